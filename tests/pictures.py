"""Pictures of pages, compared loosely: another font or browser moves letters, a page that lost a part looks different.

A picture is reduced to *cells*, the mean colours of its blocks, 32 in a row. Two grids of cells are compared row by row
over the height they share when the one is stretched to the other.
"""

import struct
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

Colour = tuple[int, int, int]
ACROSS = 32  # cells in a row
_DIFFERENT = 24  # of 255: a cell that is further from the expected one, in its mean channel, looks different
# Other fonts and sizes make up to a tenth of the cells differ; without its charts or its style a page loses a fifth.
MOST_DIFFERENT = 0.15
_HEIGHTS = (0.75, 1.33)  # of the expected height


@dataclass(frozen=True)
class Picture:
    """Rows of pixels."""

    rows: list[list[Colour]]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return len(self.rows[0]), len(self.rows)

    @property
    def colours(self) -> Counter[Colour]:
        """How many pixels have which colour."""
        return Counter(pixel for row in self.rows for pixel in row)


def decoded(png: bytes) -> Picture:
    """Return the pixels of a PNG of 8 bits a channel, not interlaced, as Chromium writes it."""
    chunks, place = [], 8
    while place < len(png):
        size, kind = struct.unpack(">I4s", png[place : place + 8])
        chunks.append((kind, png[place + 8 : place + 8 + size]))
        place += size + 12
    width, height, depth, form = struct.unpack(">IIBB", chunks[0][1][:10])
    assert (depth, form) in ((8, 2), (8, 6))
    pixel = 3 if form == 2 else 4
    data = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))
    rows, above = [], bytearray(width * pixel)
    for row in range(height):
        start = row * (width * pixel + 1)
        line = bytearray(data[start + 1 : start + 1 + width * pixel])
        _unfilter(line, above, data[start], pixel)
        rows.append([(line[i], line[i + 1], line[i + 2]) for i in range(0, len(line), pixel)])
        above = line
    return Picture(rows)


def encoded(picture: Picture) -> bytes:
    """Return a picture as PNG."""
    data = b"".join(b"\0" + bytes(part for pixel in row for part in pixel) for row in picture.rows)
    head = struct.pack(">IIBBBBB", *picture.size, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(data, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )


def cells(picture: Picture) -> Picture:
    """Return the mean colours of square blocks, ACROSS in a row."""
    width, height = picture.size
    step = width // ACROSS
    return Picture(
        [
            [_mean(picture.rows[y : y + step], x, x + step) for x in range(0, step * ACROSS, step)]
            for y in range(0, height - height % step, step)
        ]
    )


def difference(expected: Picture, actual: Picture) -> float:
    """Return the share of cells that look different, 0 to 1; 1 where the heights are too far from each other."""
    (_, tall), (_, height) = expected.size, actual.size
    if not _HEIGHTS[0] <= height / tall <= _HEIGHTS[1]:
        return 1.0
    pairs = [
        (cell, other)
        for y, row in enumerate(expected.rows)
        for cell, other in zip(row, actual.rows[y * height // tall], strict=True)
    ]
    far = sum(sum(abs(a - b) for a, b in zip(cell, other, strict=True)) > 3 * _DIFFERENT for cell, other in pairs)
    return far / len(pairs)


def look(golden: Path, actual: Picture, *, update: bool) -> float:
    """Return how different a picture looks from the expected one at `golden`, or write that there and return 0."""
    reduced = cells(actual)
    if update:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_bytes(encoded(reduced))
    assert golden.exists(), f"expected a picture at {golden}: make golden takes it"
    return difference(decoded(golden.read_bytes()), reduced)


def _mean(rows: list[list[Colour]], left: int, right: int) -> Colour:
    pixels = [pixel for row in rows for pixel in row[left:right]]
    red, green, blue = (sum(channel) // len(pixels) for channel in zip(*pixels, strict=True))
    return red, green, blue


def _unfilter(line: bytearray, above: bytearray, kind: int, pixel: int) -> None:
    """Undo a PNG filter in place: none, sub, up, average or Paeth (PNG specification, 9.2)."""
    for i in range(len(line)) if kind else ():
        left = line[i - pixel] if i >= pixel else 0
        up, corner = above[i], above[i - pixel] if i >= pixel else 0
        if kind == 4:
            guess = left + up - corner
            distances = (abs(guess - left), abs(guess - up), abs(guess - corner))
            predicted = (left, up, corner)[distances.index(min(distances))]
        else:
            predicted = (left, up, (left + up) // 2)[kind - 1]
        line[i] = (line[i] + predicted) & 255
