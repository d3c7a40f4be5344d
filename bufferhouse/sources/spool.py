"""Parts of dumps that wait for their other parts: in memory up to a limit, beyond it in a temporary file."""

import os
import tempfile
from typing import BinaryIO

Place = bytes | tuple[int, int]
"""A part itself, or where in the temporary file it begins and how long it is."""


class Waiting:
    """Holds parts; `take` gives each back once."""

    def __init__(self, memory_bytes: int = 64 << 20) -> None:
        self._free_bytes = memory_bytes
        self._file: BinaryIO | None = None

    def put(self, part: bytes) -> Place:
        """Hold a part; return what `take` wants."""
        if len(part) <= self._free_bytes:
            self._free_bytes -= len(part)
            return part
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open until the last part is taken
        start = self._file.seek(0, os.SEEK_END)
        self._file.write(part)
        return start, len(part)

    def take(self, place: Place) -> bytes:
        """Return a part."""
        if isinstance(place, bytes):
            self._free_bytes += len(place)
            return place
        self._file.seek(place[0])
        return self._file.read(place[1])

    def __enter__(self) -> "Waiting":
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()
