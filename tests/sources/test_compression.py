"""Compressed files: read whole, or refused with their bytes."""

import gzip
import lzma
import struct
import tracemalloc

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


def test_a_name_in_capitals_is_read_like_its_twin():
    """Some tools for Windows write endings so."""
    for suffix, packed in PACKED.items():
        assert DATA == decompressed(f"X{suffix.upper()}", packed)


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
        "other": b"\0BufferAssignment:\n",
    }[damage]
    with pytest.raises(CompressionError, match=f"{suffix[1:]} data that is damaged") as error:
        decompressed(f"x{suffix}", data)
    assert data == error.value.data


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("x.gz", b"BufferAssignment:\n", "text that is not compressed; name it without .gz"),
        ("x.xz", b"text", "text that is not compressed; name it without .xz"),
        ("x.zst", PACKED[".gz"], "gzip data; name it ….gz"),
        ("x.gz", PACKED[".zst"], "zstd data; name it ….zst"),
        ("x.gz", b"PK\3\4", "a zip archive; name it ….zip"),
    ],
)
def test_what_is_called_otherwise_than_it_is_compressed_is_told(name, data, what):
    """To call it damaged would send people for another copy of a good file."""
    with pytest.raises(CompressionError) as error:
        decompressed(name, data)
    assert (what, data) == (str(error.value), error.value.data)


@pytest.mark.parametrize("suffix", PACKED)
def test_the_limit_stops_a_bomb(suffix):
    """A content above the limit is refused, one of exactly the limit is not."""
    assert DATA == decompressed(f"x{suffix}", PACKED[suffix], limit=len(DATA))
    with pytest.raises(CompressionError, match=f"more than {len(DATA) - 1} bytes"):
        decompressed(f"x{suffix}", PACKED[suffix], limit=len(DATA) - 1)


def test_frames_that_are_to_be_skipped_are_no_damage_unless_cut():
    """Between the frames of zstd data others may lie, which hold nothing; a file that ends in one breaks off, too."""
    skipped = struct.pack("<II", 0x184D2A57, 5) + b"12345"
    assert DATA + DATA == decompressed("x.zst", skipped + PACKED[".zst"] + skipped + PACKED[".zst"] + skipped)
    for cut in (1, 6, len(skipped) - 1):
        with pytest.raises(CompressionError, match="zst data that is damaged"):
            decompressed("x.zst", PACKED[".zst"] + skipped[:cut])


@pytest.mark.parametrize("suffix", PACKED)
def test_a_file_that_breaks_off_anywhere_is_damaged(suffix):
    """In a header, between blocks, in the checksum behind the last one: never is it taken for the whole."""
    packed = {".gz": gzip.compress, ".zst": ZSTD.compress, ".xz": lzma.compress}[suffix](b"BufferAssignment:\n" * 9)
    for end in range(1, len(packed)):
        with pytest.raises(CompressionError, match=f"{suffix[1:]} data that is damaged"):
            decompressed(f"x{suffix}", packed[:end])


def test_a_bomb_fills_no_memory():
    """A gigabyte in 32 KiB of zstd blocks is given up as soon as the limit is crossed."""
    block = (128 << 10 << 3 | 0b010).to_bytes(3, "little") + b"x"  # one byte, 131,072 times
    bomb = bytes.fromhex("28b52ffd 00 38") + block * 8192 + b"\x01\x00\x00"
    tracemalloc.start()
    try:
        with pytest.raises(CompressionError, match="more than 1000 bytes"):
            decompressed("x.zst", bomb, limit=1000)
        assert 64 << 20 > tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_plain_names():
    """The suffix of the compression goes, and no other."""
    assert ["a.txt", "a.txt", "a.txt", "a.txt", "a.gz.txt", "a.txt", "a.txt"] == [
        plain_name(name) for name in ("a.txt", "a.txt.gz", "a.txt.zst", "a.txt.xz", "a.gz.txt", "a.txt.GZ", "a.txt.Zst")
    ]
