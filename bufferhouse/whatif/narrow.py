"""The shape of an array with another element type or size: the tiles that a TPU gives it; packed types.

A TPU has 32 bits in each place of a tile, which holds p elements of 32/p bits, above each other. So a tile has p rows
or more, `T(8,128)(2,1)` and `T(2,128)(2,1)` for bf16, and a tile of a vector has p times 128 elements or more. It has
no more rows than the array needs: `f32[3,1000]{1,0:T(4,128)}`.
"""

import re
from math import prod

from bufferhouse.tabulate.shape import Shape, parse_shape

# Types that XLA packs, with the bits that an element takes then: it prints them as `E(4)`.
_PACKED_BITS = {"s4": 4, "u4": 4, "f4e2m1fn": 4, "s2": 2, "u2": 2}
_PLACE_BITS, _LANES = 32, 128
_VECTOR = 1024  # elements of the largest tile of a vector
_TILES = re.compile(r"\((?:(?P<rows>[0-9]+),)?(?P<columns>[0-9]+)\)(?:\(128\))?(?:\([0-9]+,1\))?")
_ELEMENT_SIZE = re.compile(r"E\([0-9]+\)")
# In a layout the size of an element stands behind tiles, before the memory space and what else may follow.
_LAYOUT = re.compile(r"\{(?P<order>[0-9,]*)(?::(?P<before>[^}]*?)(?P<behind>(?:S\(|SC|M\(|P\().*)?)?\}$")


def element_bits(element_type: str) -> int | None:
    """Return the bits of an element, packed if XLA packs it; None for a type of which they are not known."""
    return _PACKED_BITS.get(element_type) or parse_shape(f"{element_type}[]").element_bits


def with_type(text: str, element_type: str) -> str:
    """Return the text of an array's shape with another element type, and with the tiles of that type."""
    old, bits = parse_shape(text), element_bits(element_type)
    new = _ELEMENT_SIZE.sub("", text.replace(old.element_type or "", element_type, 1))
    if old.tiles and bits:
        new = new.replace(f"T{old.tiles}", f"T{_tiles(old.tiles, len(old.dims or ()), bits)}", 1)
    found = _LAYOUT.search(new)
    if element_type not in _PACKED_BITS or found is None:
        return new.replace(":}", "}")
    size = f"{found['before'] or ''}E({bits}){found['behind'] or ''}"
    return f"{new[: found.start()]}{{{found['order']}:{size}}}"


def _tiles(tiles: str, rank: int, bits: int) -> str:
    found, packed = _TILES.fullmatch(tiles), max(_PLACE_BITS // bits, 1)
    if found is None or int(found["columns"]) % _LANES:  # no tile of a TPU
        return tiles
    inside = f"({packed},1)" if packed > 1 and rank else ""
    if found["rows"] is None:
        inside = f"({_LANES}){inside}" if inside else ""
        return f"({max(int(found['columns']), packed * _LANES)}){inside}"
    return f"({max(int(found['rows']), packed)},{found['columns']}){inside}"


def with_fitting_tiles(text: str) -> str:
    """Return the text of an array's shape with tiles halved as long as a dimension that became small fits into one."""
    shape = parse_shape(text)
    found = _TILES.fullmatch(shape.tiles or "")
    if found is None or not shape.layout or not shape.dims or not shape.element_bits:
        return text
    sizes = [shape.dims[int(place)] or 0 for place in shape.layout.split(",")]
    packed, columns = max(_PLACE_BITS // shape.element_bits, 1), int(found["columns"])
    if columns % _LANES:  # no tile of a TPU
        return text
    if found["rows"] is None:
        old = f"T({columns})"
        fitting = f"T({_halved(columns, max(sizes[0], packed * _LANES))})"
    elif len(sizes) > 1:
        old = f"T({found['rows']},"
        fitting = f"T({_halved(int(found['rows']), max(sizes[1], packed))},"
    else:
        return text
    return text.replace(old, fitting, 1)


def flat_bytes(shape: Shape) -> int | None:
    """Return the bytes of an array without the tiles of its dimensions: as a vector if it has tiles of a TPU.

    A vector has tiles, too, with as many places as it needs, at most 1,024; no value of a TPU is smaller than a tile.
    """
    found = _TILES.fullmatch(shape.tiles or "")
    count = prod(size or 0 for size in shape.dims or ())
    if found is None or int(found["columns"]) % _LANES or not count or not shape.logical_bytes:
        return shape.logical_bytes
    bits = shape.logical_bytes * 8 // count
    tile = _halved(_VECTOR, max(count, max(_PLACE_BITS // bits, 1) * _LANES))
    return -(-count // tile) * tile * bits // 8


def _halved(tile: int, least: int) -> int:
    while tile % 2 == 0 and tile // 2 >= least:
        tile //= 2
    return tile
