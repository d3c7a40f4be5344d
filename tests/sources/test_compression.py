"""Compressed files: read whole, or refused with their bytes."""

import gzip
import lzma

import pytest
import zstandard

from bufferhouse.sources.compression import CompressionError, decompressed, plain_name

DATA = b"".join(b"line %d\n" % number for number in range(50_000))
# With a checksum, as the program zstd writes; the library leaves it out unless asked.
ZSTD = zstandard.ZstdCompressor(write_checksum=True)
PACKED = {".gz": gzip.compress(DATA), ".zst": ZSTD.compress(DATA), ".xz": lzma.compress(DATA)}
# Behind whole xz data rubbish is passed over by the standard library; nothing is lost by that.
DAMAGES = [
    (suffix, damage)
    for suffix in PACKED
    for damage in ("cut", "flipped", "followed by rubbish", "other")
    if (suffix, damage) != (".xz", "followed by rubbish")
]


@pytest.mark.parametrize("suffix", PACKED)
def test_content_comes_back(suffix):
    """gzip, Zstandard and xz, also where several pieces were put one behind the other."""
    assert DATA == decompressed(f"x{suffix}", PACKED[suffix])
    assert DATA + DATA == decompressed(f"x{suffix}", PACKED[suffix] * 2)


def test_other_files_are_what_they_are():
    """Without a known suffix nothing is decompressed, whatever the bytes look like."""
    assert PACKED[".gz"] == decompressed("x.txt", PACKED[".gz"])


@pytest.mark.parametrize(("suffix", "damage"), DAMAGES)
def test_damage_is_an_error_that_keeps_the_bytes(suffix, damage):
    """A file that breaks off, holds a wrong bit or something else altogether is never taken for a shorter one."""
    packed = PACKED[suffix]
    middle = len(packed) // 2
    data = {
        "cut": packed[:middle],
        "flipped": packed[:middle] + bytes([packed[middle] ^ 0xFF]) + packed[middle + 1 :],
        "followed by rubbish": packed + b"rubbish",
        "other": b"BufferAssignment:\n",
    }[damage]
    with pytest.raises(CompressionError, match=f"{suffix[1:]} data that is damaged") as error:
        decompressed(f"x{suffix}", data)
    assert data == error.value.data


@pytest.mark.parametrize("suffix", PACKED)
def test_the_limit_stops_a_bomb(suffix):
    """A content above the limit is refused, one of exactly the limit is not."""
    assert DATA == decompressed(f"x{suffix}", PACKED[suffix], limit=len(DATA))
    with pytest.raises(CompressionError, match=f"more than {len(DATA) - 1} bytes"):
        decompressed(f"x{suffix}", PACKED[suffix], limit=len(DATA) - 1)


def test_plain_names():
    """The suffix of the compression goes, and no other."""
    assert ["a.txt", "a.txt", "a.txt", "a.txt", "a.gz.txt"] == [
        plain_name(name) for name in ("a.txt", "a.txt.gz", "a.txt.zst", "a.txt.xz", "a.gz.txt")
    ]
