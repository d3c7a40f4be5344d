"""Bytes that wait to be asked for: some of them in memory, all others in a temporary file."""

import os
import tempfile
import weakref
from typing import BinaryIO

Place = bytes | tuple[int, int]
"""Bytes themselves, or where in the temporary file they begin and how long they are."""


class Spool:
    """Holds bytes, up to `memory_bytes` of them in memory. The file is gone with the last reference to this."""

    def __init__(self, memory_bytes: int = 0) -> None:
        self._free_bytes = memory_bytes
        self._file: BinaryIO | None = None

    def put(self, data: bytes) -> Place:
        """Hold some bytes; return what `take` wants."""
        if len(data) <= self._free_bytes:
            self._free_bytes -= len(data)
            return data
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as anything may be asked for
            weakref.finalize(self, self._file.close)
        start = self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        return start, len(data)

    def take(self, place: Place) -> bytes:
        """Return some bytes; those that were in memory are held no longer, and may be taken once."""
        if isinstance(place, bytes):
            self._free_bytes += len(place)
            return place
        self._file.seek(place[0])
        return self._file.read(place[1])
