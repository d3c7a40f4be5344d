"""Compressed files, read with a limit: a small file must not fill the memory."""

import gzip
import io
import lzma
import os
import zlib
from typing import BinaryIO

import zstandard

SUFFIXES = (".gz", ".zst", ".xz")
LIMIT_BYTES = 256 << 20  # seven times the largest dump that was seen; reading one takes some 12 times its bytes
_CHUNK = 1 << 20


class CompressionError(Exception):
    """Compressed data that is damaged or holds more than the limit; `data` are its bytes as they lie there.

    `role` says which file of a dump it is.
    """

    def __init__(self, message: str, data: bytes) -> None:
        super().__init__(message)
        self.data = data
        self.role = "combined"


def plain_name(name: str) -> str:
    """Return a file name without the suffix of its compression."""
    return name[: name.rindex(".")] if name.endswith(SUFFIXES) else name


def opened(name: str, file: BinaryIO) -> BinaryIO:
    """Return a reader of what `file` holds, decompressed by the suffix of `name`."""
    if name.endswith(".gz"):
        return gzip.open(file, "rb")
    if name.endswith(".zst"):
        return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    if name.endswith(".xz"):
        return lzma.open(file, "rb")
    return file


def limit_bytes() -> int:
    """Return how large one file may be: $BUFFERHOUSE_DUMP_LIMIT bytes, else 256 MiB."""
    return int(os.environ.get("BUFFERHOUSE_DUMP_LIMIT") or LIMIT_BYTES)


def decompressed(name: str, data: bytes, limit: int | None = None) -> bytes:
    """Return the bytes a file holds, decompressed by the suffix of its name.

    Raises:
        CompressionError: they are damaged, or more than `limit`, by default that of `limit_bytes`.
    """
    if not name.endswith(SUFFIXES):
        return data
    limit = limit_bytes() if limit is None else limit
    # Closed where it fails: an error that is kept would keep all that was read until then.
    with io.BytesIO() as content:
        try:
            if name.endswith(".zst"):
                _check_frames(data)
            file = opened(name, io.BytesIO(data))
            while piece := file.read(_CHUNK):
                content.write(piece)
                if content.tell() > limit:
                    raise CompressionError(f"more than {limit} bytes; BUFFERHOUSE_DUMP_LIMIT raises the limit", data)
        except DAMAGE as error:
            raise CompressionError(f"{name.rsplit('.', 1)[1]} data that is damaged: {error}", data) from None
        return content.getvalue()


# What the decompressors raise on damaged input.
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zstandard.ZstdError)


def _check_frames(data: bytes) -> None:
    """Raise EOFError where the last frame of zstd data is cut: the stream reader ends there without a word.

    Only the sizes in front of the blocks are looked at (RFC 8878, 3.1.1), nothing is decompressed.
    """
    at = 0
    while at < len(data):
        if data[at + 1 : at + 4] == b"\x2a\x4d\x18":  # a frame to be skipped
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
            continue
        head = data[at : at + 18]
        has_checksum = zstandard.get_frame_parameters(head).has_checksum
        at += zstandard.frame_header_size(head)
        is_last = False
        while not is_last and at <= len(data):
            block = int.from_bytes(data[at : at + 3], "little")
            is_last, is_repeated, size = bool(block & 1), block >> 1 & 3 == 1, block >> 3
            at += 3 + (1 if is_repeated else size)
        at += 4 * has_checksum
    if at > len(data):
        raise EOFError("the last frame is cut")
