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
        try:
            if self._file is None:
                # Without a buffer, so that a full disk is told here; open as long as anything may be asked for.
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            start = self._file.seek(0, os.SEEK_END)
            written = 0
            while written < len(data):  # a call takes 2 GiB at most
                written += self._file.write(memoryview(data)[written:])
        except OSError as error:
            way_out = f"{error.strerror}; $TMPDIR may name another folder for temporary files"
            raise OSError(error.errno, way_out, tempfile.gettempdir()) from None
        return start, len(data)

    def take(self, place: Place) -> bytes:
        """Return some bytes; those that were in memory are held no longer, and may be taken once."""
        if isinstance(place, bytes):
            self._free_bytes += len(place)
            return place
        data, read = bytearray(place[1]), 0
        self._file.seek(place[0])
        while read < len(data):  # a call gives 2 GiB at most
            read += self._file.readinto(memoryview(data)[read:])
        return bytes(data)
