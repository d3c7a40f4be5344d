"""XLA shape texts: `f32[16,32]{1,0:T(8,128)S(1)}` → element type, dimensions, layout, tiles, bytes.

The texts are those of XLA's `ShapeUtil::PrintHumanString` and `PrintHumanStringWithLayout` (layouts:
`Layout::Print`, tiles: `Tile::Print`). Every function checks the whole text and raises ShapeError when it is
not exactly one shape; `shape_text` has their grammar.
"""

import re
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from bufferhouse.tabulate.shape_grammar import (
    ARRAY,
    INDEX_COMMENT,
    LONG_INT,
    ShapeError,
    has_dynamic,
    leaves,
    remembered,
    scanned,
    subshape,
    tuple_elements,
    without_layout,
)

__all__ = ["Shape", "ShapeError", "leaves", "parse_shape", "subshape", "tuple_elements", "without_layout"]

_SYNC_FLAG_MEMORY_SPACE = 2
_POINTER_BYTES = 8
_INT64_MAX = 2**63 - 1
_TOO_MANY = 2**67  # elements: more than 2^63 - 1 bytes, whatever one takes

# Bits one element takes where the layout prints no E(n): `primitive_util::ByteWidth` × 8. The types below
# eight bits stand here with eight because the dumps show it: `s4[100]{0}` has a slot of 100 bytes (jaxlib
# 0.4.13, the only build that prints s4 without E); on later CPU builds `s4[100]{0:E(4)}` has 50,
# `s2[101]{0:E(2)}` 26 and `f4e2m1fn[41]{0:E(4)}` 21. TPU (libtpu 0.0.8 and 0.0.33) prints E for all of them,
# and there E counts in the tiled size as well: `s4[100]{0:T(1024)(128)(8,1)E(4)}` and the like of f4e2m1fn
# have 512 bytes, `s2[101]{0:T(1024)(128)(16,1)E(2)}` 256. No dump has a tiled sub-byte array without E.
_ELEMENT_BITS = {
    name: bits
    for bits, names in {
        8: "pred s1 s2 s4 s8 u1 u2 u4 u8 f4e2m1fn f6e2m3fn f6e3m2fn f8e3m4 f8e4m3 f8e4m3fn f8e4m3fnuz"
        " f8e4m3b11fnuz f8e5m2 f8e5m2fnuz f8e8m0fnu",
        16: "s16 u16 f16 bf16",
        32: "s32 u32 f32",
        64: "s64 u64 f64 c64",
        128: "c128",
    }.items()
    for name in names.split()
}
_BYTES_WITHOUT_ELEMENTS = {"token": 0, "opaque": _POINTER_BYTES}

_SPLIT = re.compile(r"\(([0-9]+):([0-9,]+)\)")


class Shape(NamedTuple):
    """One shape text and what it says.

    `element_type`: as printed (`f32`, `token`); of `b(…)` that of the array inside.
    `dims`: `<=n` counts as n, a `?` is None; `token[]` and scalars have ().
    `is_dynamic`: whether a dimension, of any leaf of a tuple, is printed as `<=n` or `?`.
    `layout`: minor-to-major as printed (`1,0`); "" for `{:T(128)}`, None where no layout is printed.
    `tiles`: all of them as printed, `(8,128)(2,1)`.
    `layout_memory_space`: S(n) of the layout, 0 where none is printed and for tuples.
    `element_bits`: E(n), else what an unpacked element of the type takes; None for token and opaque.
    `logical_bytes`: `ShapeUtil::ByteSizeOf(shape, 8)`, for a tuple 8 per direct element.
    `physical_bytes`: `ShapeUtil::ArraySize`, the dimensions rounded up to the first tile. Equal to
        `logical_bytes` without tiles, for sync flags (memory space 2: TPU ignores their tile) and for tuples.
        A slot may be larger still, and the rest is slack: an untiled scalar on TPU takes up to 4096 bytes, a
        bounded dynamic shape on CPU and GPU 4 more per dimension.
    `tuple_arity`: number of direct elements; None for anything but a tuple.

    What a shape does not have is None: a tuple has no element type, dims, layout, tiles or bits; the unknown
    shape and a buffer of a tuple have no sizes either. A size is None, too, for a `?` dimension, for an
    unknown element type without E(n) and above 2^63 - 1; the physical one alone where the layout does not fit
    the dimensions.
    """

    shape_text: str
    element_type: str | None = None
    dims: tuple[int | None, ...] | None = None
    is_dynamic: bool = False
    layout: str | None = None
    tiles: str | None = None
    layout_memory_space: int = 0
    element_bits: int | None = None
    logical_bytes: int | None = None
    physical_bytes: int | None = None
    tuple_arity: int | None = None


def parse_shape(text: str) -> Shape:
    """What one shape text says. Raises ShapeError when it is not exactly one shape of the grammar."""
    if not text.startswith("("):
        return _parse_leaf(text)
    arity, is_dynamic = _flat(text) or (len(scanned(text).elements), scanned(text).is_dynamic)
    size = _POINTER_BYTES * arity
    return Shape(text, is_dynamic=is_dynamic, logical_bytes=size, physical_bytes=size, tuple_arity=arity)


def _flat(text: str) -> tuple[int, bool] | None:
    """Return how many elements a tuple has that are all arrays, and whether one is dynamic; None for any other."""
    if not text.endswith(")"):
        return None
    elements = INDEX_COMMENT.sub(", ", text[1:-1]).split(", ")
    matches = list(map(ARRAY.fullmatch, elements))
    if None in matches or LONG_INT.search(text) or any(match["physical"] for match in matches):
        return None
    return len(elements), any(has_dynamic(match["dims"]) for match in matches)


@remembered(1 << 14)
def _parse_leaf(text: str) -> Shape:
    match = ARRAY.fullmatch(text)
    if match is None or match["physical"] or LONG_INT.search(text):
        is_dynamic = scanned(text).is_dynamic
        buffers = 0
        while text.startswith("b(", 2 * buffers):
            buffers += 1
        match = ARRAY.match(text, 2 * buffers)
        if match is None:
            return Shape(text, is_dynamic=is_dynamic)
    else:  # nearly always: one array, and nothing in it that a regex cannot read
        is_dynamic = has_dynamic(match["dims"])
    element_type = match["type"]
    dims = tuple(None if dim == "?" else int(dim.lstrip("<=")) for dim in match["dims"].split(",") if dim)
    bits = int(match["bits"]) if match["bits"] else _ELEMENT_BITS.get(element_type)
    memory_space = int(match["memory_space"] or 0)
    elements = None if None in dims else _product(dims)
    logical_bytes = _BYTES_WITHOUT_ELEMENTS.get(element_type, _bytes_of(elements, bits))
    physical_bytes = logical_bytes
    if match["tiles"] and memory_space != _SYNC_FLAG_MEMORY_SPACE:
        physical_bytes = _bytes_of(_tiled_elements(dims, match), bits)
    return Shape(
        text,
        element_type=element_type,
        dims=dims,
        is_dynamic=is_dynamic,
        layout=match["layout"],
        tiles=match["tiles"],
        layout_memory_space=memory_space,
        element_bits=bits,
        logical_bytes=logical_bytes,
        physical_bytes=physical_bytes,
    )


def _bytes_of(elements: int | None, bits: int | None) -> int | None:
    if elements is None or bits is None:
        return None
    size = _rounded_up(elements * bits, 8) // 8
    return size if size <= _INT64_MAX else None


def _tiled_elements(dims: tuple[int | None, ...], match: re.Match[str]) -> int | None:
    """Elements of a tiled array with its padding, as `ShapeUtil::ArraySize` counts them.

    Only the first tile pads; the further ones order the elements inside it. A `*` joins its dimension to the
    next more minor one before that is rounded up (`Tile::kCombineDimension`).
    """
    sizes = _physical_sizes(dims, _numbers(match["layout"]), match["splits"] or "")
    if sizes is None:
        return None
    tile = match["tiles"][1 : match["tiles"].index(")")]
    joined: list[tuple[int, int]] = []
    for size, step in zip_longest(sizes, tile.split(",")[::-1] if tile else []):
        size = 1 if size is None else size
        if step == "*" and joined:
            joined[-1] = (min(joined[-1][0] * size, _TOO_MANY), joined[-1][1])
        elif step is None or (step.isdecimal() and step != "0"):
            joined.append((size, int(step or 1)))
        else:
            return None
    elements = _product([_rounded_up(size, step) for size, step in joined])
    return _rounded_up(elements, int(match["tail"] or 1) or 1)


def _physical_sizes(dims: tuple[int | None, ...], order: list[int], splits: str) -> list[int] | None:
    """The sizes of the dimensions, most minor first; of a split one (`SC`) the size of its largest piece."""
    if None in dims or sorted(order) != list(range(len(dims))):
        return None
    sizes = [dims[number] for number in order]
    for dimension, cuts in _SPLIT.findall(splits):
        # A split counts the dimensions in physical order, most major first (`LayoutUtil::MaxSplitSize`).
        place = len(sizes) - 1 - int(dimension)
        if place < 0:
            return None
        sizes[place] = max(end - start for start, end in pairwise([0, *_numbers(cuts), sizes[place]]))
    return sizes


def _product(sizes: Sequence[int]) -> int:
    """Multiply sizes, no further than counts: the product of 64,000 of them would have millions of digits."""
    elements = 0 if 0 in sizes else 1
    for size in sizes:
        elements = min(elements * size, _TOO_MANY)
    return elements


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")] if text else []


def _rounded_up(size: int, step: int) -> int:
    return -(-size // step) * step
