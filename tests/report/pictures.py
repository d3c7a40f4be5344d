"""Pictures of pages, compared loosely: another font or browser moves letters, a page that lost a part looks different.

A picture is reduced to *cells*, the mean colors of its blocks, 32 in a row. Each row of cells is compared with the one
of the other picture that is most like it, among those at about the same height.
"""

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

Color = tuple[int, int, int]
ACROSS = 32  # cells in a row
_DIFFERENT = 24  # of 255: a cell whose mean channel is further off looks different
# Letters of another width or size make up to 5 % of the cells of a page differ. Without its charts 7 % and more do,
# without its style 12 %.
MOST_DIFFERENT = 0.065
_NOTHING = 0.01  # what dates and times in a page come to
_REACH = 0.03  # of the height: how far up or down a row may have moved
_HEIGHTS = (0.75, 1.33)  # of the expected height


@dataclass(frozen=True)
class Picture:
    """Rows of pixels."""

    rows: list[list[Color]]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return len(self.rows[0]), len(self.rows)


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
    """Return the mean colors of square blocks, ACROSS in a row."""
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
    if not _HEIGHTS[0] <= actual.size[1] / expected.size[1] <= _HEIGHTS[1]:
        return 1.0
    return max(_missing(expected, actual), _missing(actual, expected))


def _missing(one: Picture, other: Picture) -> float:
    """Return the share of the cells of one picture that are not about there in another."""
    (width, height), (_, others) = one.size, other.size
    reach = max(round(height * _REACH), 2)
    far = 0
    for y, row in enumerate(one.rows):
        middle = y * others // height
        near = other.rows[max(middle - reach, 0) : middle + reach + 1]
        if row in near:
            continue
        far += min(sum(map(_looks_different, row, candidate)) for candidate in near)
    return far / (width * height)


def _looks_different(one: Color, other: Color) -> bool:
    return abs(one[0] - other[0]) + abs(one[1] - other[1]) + abs(one[2] - other[2]) > 3 * _DIFFERENT


def look(golden: Path, actual: Picture, *, update: bool) -> float:
    """Return how different a picture looks from the expected one at `golden`; with `update` write that anew.

    It stays as it is where all that differs is a date or a time.
    """
    reduced = cells(actual)
    if update and not (golden.exists() and difference(decoded(golden.read_bytes()), reduced) <= _NOTHING):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_bytes(encoded(reduced))
    assert golden.exists(), f"expected a picture at {golden}: make golden takes it"
    return difference(decoded(golden.read_bytes()), reduced)


def _mean(rows: list[list[Color]], left: int, right: int) -> Color:
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
