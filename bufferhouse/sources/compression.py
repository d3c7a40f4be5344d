"""Compressed files, read with a limit: a small file must not fill the memory."""

import gzip
import io
import lzma
import zlib
from itertools import product
from typing import BinaryIO

import zstandard

from bufferhouse.errors import given_number

SUFFIXES = (".gz", ".zst", ".xz")
# In capitals, as some tools for Windows write names, and in any mixture of both.
ENDINGS = tuple(
    "".join(word) for suffix in SUFFIXES for word in product(*(dict.fromkeys((s, s.upper())) for s in suffix))
)
OTHER_SUFFIXES = (".bz2", ".lz4", ".lzma", ".br", ".z", ".7z", ".rar")  # what people compress with, and is not read
SHORT_SUFFIXES = {".tgz": ".tar.gz", ".tzst": ".tar.zst", ".txz": ".tar.xz", ".tbz": ".tar.bz2", ".tbz2": ".tar.bz2"}
_UNREAD = (*OTHER_SUFFIXES, *(short for short, full in SHORT_SUFFIXES.items() if full.endswith(OTHER_SUFFIXES)))
LIMIT_BYTES = 256 << 20  # seven times the largest dump that was seen; reading one takes some 12 times its bytes
_CHUNK = 1 << 20
_PLAIN, _MARK_SIZE = b"\t\r\n" + bytes(range(0x20, 0x7F)), 4  # no compressed data begins with so many of these
_ZSTD_PIECE = 1 << 9  # each is decompressed whole, and four bytes may stand for 128 KiB


class CompressionError(OSError):
    """Compressed data that is damaged or holds more than the limit; `data` are its bytes as they lie there.

    `role` says which file of a dump it is.
    """

    def __init__(self, message: str, data: bytes) -> None:
        super().__init__(message)
        self.data = data
        self.role = "combined"


class Damaged(CompressionError):
    """Compressed data that is damaged: reading it again gives nothing else."""


def plain_name(name: str) -> str:
    """Return a file name without the suffix of its compression."""
    return name[: name.rindex(".")] if name.endswith(ENDINGS) else name


def full_name(name: str) -> str:
    """Return the name of an archive with its suffix written out: "x.tar.gz" for "x.tgz"."""
    stem, dot, ending = name.rpartition(".")
    return stem + SHORT_SUFFIXES.get((dot + ending).lower(), dot + ending)


def is_unread(name: str) -> bool:
    """Return whether a file is called like a dump, or like an archive, in a compression that is not read."""
    name = name.lower()
    if not name.endswith(_UNREAD):
        return False
    stem, _, ending = full_name(name).rpartition(".")
    return ending in ("7z", "rar") or stem.endswith((".tar", "buffer-assignment.txt"))


# What compressed data begins with, what it is, and what to do where a name does not say so.
_MARKS = (
    (b"\x1f\x8b", "gzip data", "name it ….gz"),
    (b"\x28\xb5\x2f\xfd", "zstd data", "name it ….zst"),
    (b"\xfd7zXZ\0", "xz data", "name it ….xz"),
    (b"BZh", "bzip2 data", "decompress it first"),
    (b"PK\x03\x04", "a zip archive", "name it ….zip"),
)


def told_by_mark(beginning: bytes) -> tuple[str, str] | None:
    """Return what compressed data is, by its first bytes, and the way out where its name does not tell; else None."""
    return next(((what, way_out) for mark, what, way_out in _MARKS if beginning.startswith(mark)), None)


def misnamed(name: str, beginning: bytes) -> str | None:
    """Return what a file is by its first bytes, with the way out, where its name says something else; None if unknown.

    So it is saved by who decompresses what a server sends and keeps its name.
    """
    name = full_name(name)
    ending = name[name.rfind(".") :].lower()
    if found := told_by_mark(beginning):
        return None if found[1].endswith(ending) else "; ".join(found)
    if ending in SUFFIXES and len(beginning) >= _MARK_SIZE and all(byte in _PLAIN for byte in beginning[:_MARK_SIZE]):
        return f"text that is not compressed; name it without {ending}"
    return None


def opened(name: str, file: BinaryIO) -> BinaryIO:
    """Return a reader of what `file` holds, decompressed by the suffix of `name`."""
    name = name.lower()
    if name.endswith(".gz"):
        return gzip.open(file, "rb")
    if name.endswith(".zst"):
        return io.BufferedReader(_Frames(file), _CHUNK)
    if name.endswith(".xz"):
        return lzma.open(file, "rb")
    return file


def limit_bytes() -> int:
    """Return how large one file may be: $BUFFERHOUSE_DUMP_LIMIT bytes, else 256 MiB.

    Raises:
        UsageError: the variable is no number of at least 1.
    """
    return given_number("BUFFERHOUSE_DUMP_LIMIT", LIMIT_BYTES)


def too_large(limit: int) -> OSError:
    """Return the error of a file beyond the limit, which says how to raise it."""
    return OSError(f"more than {limit} bytes; $BUFFERHOUSE_DUMP_LIMIT, in bytes, raises the limit")


def decompressed(name: str, data: bytes, limit: int | None = None) -> bytes:
    """Return the bytes a file holds, decompressed by the suffix of its name.

    Raises:
        CompressionError: they are `Damaged`, or more than `limit`, by default that of `limit_bytes`.
    """
    if not name.endswith(ENDINGS):
        return data
    limit = limit_bytes() if limit is None else limit
    # Closed where it fails: an error that is kept would keep all that was read until then.
    with io.BytesIO() as content:
        try:
            file = opened(name, io.BytesIO(data))
            while piece := file.read(_CHUNK):
                content.write(piece)
                if content.tell() > limit:
                    raise CompressionError(str(too_large(limit)), data)
        except DAMAGE as error:
            what = misnamed(name, data) or f"{name.rsplit('.', 1)[1].lower()} data that is damaged: {error}"
            raise Damaged(what, data) from None
        return content.getvalue()


# What the decompressors raise on damaged input.
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zstandard.ZstdError)


class _Frames(io.RawIOBase):
    """What the frames of zstd data hold, one after another; EOFError where the last one is cut."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._frame = None
        self._given = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        while not self._ready:
            self._given = self._given or self._file.read(_ZSTD_PIECE)
            is_over = self._frame is None or self._frame.eof
            if not self._given:
                if is_over:
                    return 0
                raise EOFError("the last frame is cut")
            if is_over:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = memoryview(self._frame.decompress(self._given))
            self._given = self._frame.unused_data
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count
