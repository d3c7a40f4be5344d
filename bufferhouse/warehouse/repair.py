"""Mend what is left of a process that was killed while DuckDB wrote a checkpoint: a checksum of bytes that never came.

A block of metadata has 64 pieces. A checkpoint puts its pieces where there is room, and so writes blocks anew whose
other pieces the checkpoint before needs, which stands until the header is written. The kernel ends the write of a
killed process between two pages, a power cut between any: then the block is the new one in part, and the old one in
part. Pieces in use have the same bytes in both, so nothing is lost but the checksum, for which DuckDB 1.5.5 refuses
the file ("computed checksum … does not match stored checksum"). Only blocks with room are written twice: a wrong
checksum in another is damage of another kind, and DuckDB goes on refusing it.

Layout: DuckDB's src/storage/single_file_block_manager.cpp and src/storage/metadata/. A process of its own does it,
which runs this file as a script and needs the standard library alone: where a process reads the file, and opens and
closes it once more, DuckDB's lock is gone.
"""

import fcntl
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_HEADERS = (4096, 8192)  # the one that was written last stands
_HEADER_BYTES = 4096
_BLOCKS_BEGIN = 12288
_CHECKSUM_BYTES = 8
_PIECES = 64  # in a block of metadata
_NONE = 2**64 - 1
_WORD = 2**64 - 1
_FACTOR = 0xBF58476D1CE4E5B9


def mend(path: Path) -> None:
    """Mend a file of DuckDB, if it needs it; one that another connection has open is left as it is."""
    subprocess.run([sys.executable, "-I", "-S", __file__, str(path)], capture_output=True)


def mend_left(path: Path) -> None:
    """Mend a warehouse file that is about to be read, if the last process that wrote it was killed.

    Where another writes it now, or this user may not, it stays as it is.
    """
    from bufferhouse.errors import WarehouseBusy
    from bufferhouse.warehouse.lock import WriterLock

    with suppress(WarehouseBusy, OSError):
        lock = WriterLock(path)
        if lock.path.stat().st_size:
            with lock:
                if lock.was_left:
                    mend(path)


def mend_here(path: Path) -> list[int]:
    """Mend a file that this process has not opened; return the numbers of the blocks that got a new checksum.

    Raises:
        OSError: it cannot be written, or another process has it open.
        ValueError: it is no database, or one of another kind.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the lock that DuckDB takes
        size, free_list = _standing(descriptor)
        mended = []
        for block, room in _metadata_blocks(descriptor, size, free_list):
            stored, content = _block(descriptor, block, size)
            if room and stored != (computed := checksum(content)):
                os.pwrite(descriptor, computed.to_bytes(_CHECKSUM_BYTES, "little"), _BLOCKS_BEGIN + block * size)
                mended.append(block)
        if mended:
            os.fsync(descriptor)
        return mended
    finally:
        os.close(descriptor)


def checksum(content: bytes) -> int:
    """Return DuckDB's checksum of whole words of 8 bytes."""
    result = 5381
    for (word,) in struct.iter_unpack("<Q", content):
        result ^= word * _FACTOR & _WORD
    return result


def _standing(descriptor: int) -> tuple[int, int]:
    """Return the size of a block and the pointer to the list of free blocks, of the checkpoint that stands."""
    magic, _, flags = struct.unpack_from("<4s2Q", os.pread(descriptor, _HEADER_BYTES, 0), _CHECKSUM_BYTES)
    if magic != b"DUCK" or flags & 1:
        raise ValueError("expected a database of DuckDB that is not encrypted")
    found = []
    for place in _HEADERS:
        header = os.pread(descriptor, _HEADER_BYTES, place)
        stored, iteration, _, free_list, _, size = struct.unpack_from("<6Q", header)
        if stored != checksum(header[_CHECKSUM_BYTES:]):
            raise ValueError(f"the header at {place} is damaged")
        found.append((iteration, size, free_list))
    _, size, free_list = max(found)
    if size % _HEADER_BYTES or not size:
        raise ValueError(f"expected blocks of whole pages, found {size} bytes")
    return size, free_list


def _metadata_blocks(descriptor: int, size: int, free_list: int) -> Iterator[tuple[int, int]]:
    """Yield number and room, a bit for each free piece, of the blocks of metadata: the list behind the free blocks."""
    if free_list == _NONE:
        return
    text = b"".join(_pieces(descriptor, size, free_list))
    place = 0
    for entry in ("<Q", "<QI"):  # blocks that are free; blocks that several columns share
        (count,) = struct.unpack_from("<Q", text, place)
        place += 8 + count * struct.calcsize(entry)
    (count,) = struct.unpack_from("<Q", text, place)
    for number in range(count):
        yield struct.unpack_from("<2Q", text, place + 8 + number * 16)


def _pieces(descriptor: int, size: int, pointer: int) -> Iterator[bytes]:
    """Yield the contents of a chain of pieces, each of which begins with the pointer to the next."""
    piece_bytes = (size - _CHECKSUM_BYTES) // _PIECES // 8 * 8
    seen = set()
    while pointer != _NONE and pointer not in seen:
        seen.add(pointer)
        _, content = _block(descriptor, pointer & 2**56 - 1, size)
        piece = content[(pointer >> 56) * piece_bytes :][:piece_bytes]
        (pointer,) = struct.unpack_from("<Q", piece)
        yield piece[8:]


def _block(descriptor: int, number: int, size: int) -> tuple[int, bytes]:
    block = os.pread(descriptor, size, _BLOCKS_BEGIN + number * size)
    if len(block) != size:
        raise ValueError(f"block {number} is not there")
    return int.from_bytes(block[:_CHECKSUM_BYTES], "little"), block[_CHECKSUM_BYTES:]


if __name__ == "__main__":
    with suppress(OSError, ValueError, struct.error):
        mend_here(Path(sys.argv[1]))
