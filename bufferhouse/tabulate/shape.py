"""XLA shape texts: `f32[16,32]{1,0:T(8,128)S(1)}` → element type, dimensions, layout, tiles, bytes.

The texts are those of XLA's `ShapeUtil::PrintHumanString` and `PrintHumanStringWithLayout` (layouts:
`Layout::Print`, tiles: `Tile::Print`). Every function checks the whole text and raises ShapeError when it is
not exactly one shape; their grammar comes first.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise, zip_longest
from typing import NamedTuple, TypeVar

from bufferhouse.dump.grammar import LARGEST_INT

T = TypeVar("T")
_LONGEST_REMEMBERED = 1 << 12

_UNKNOWN_SHAPE = "<unknown shape>"

_INT = r"(?:0|[1-9][0-9]*)"
_TYPE = r"[a-z][a-z0-9]*"
_DIM = rf"(?:(?:<=)?{_INT}|\?)"
_TILE_DIM = rf"(?:{_INT}|\*|Invalid value -?{_INT})"
_TILE = rf"\((?:{_TILE_DIM}(?:,{_TILE_DIM})*)?\)"
_LEVELS = r"D\([DCSH?]\+?~?(?:,[DCSH?]\+?~?)*\)"
# The first versions that printed dimension levels put them behind the tiles, later ones before them.
_PROPERTIES = (
    rf"(?P<levels>{_LEVELS})?(?:T(?P<tiles>(?:{_TILE})+))?(?(levels)|(?:{_LEVELS})?)"
    rf"(?:L\((?P<tail>{_INT})\))?(?:#\({_TYPE}\))?(?:\*\({_TYPE}\))?"
    rf"(?:E\((?P<bits>{_INT})\))?(?:S\((?P<memory_space>{_INT})\))?"
    rf"(?:SC(?P<splits>(?:\({_INT}:{_INT}(?:,{_INT})*\))+))?"
)
_METADATA = rf"(?:M\({_INT}\))?"
# P(…) holds a whole shape, which no regex can match: the match ends behind "P(", and _Scan goes on there.
ARRAY = re.compile(
    rf"(?P<type>{_TYPE})\[(?P<dims>(?:{_DIM}(?:,{_DIM})*)?)\]"
    rf"(?P<braces>\{{(?P<layout>(?:{_INT}(?:,{_INT})*)?)"
    rf"(?::(?=[DTL#*ESPM]){_PROPERTIES}(?:(?P<physical>P\()|{_METADATA}\}})|\}}))?"
)
# The longest sound beginning of an array text, for the place and the words of an error.
_BEGINNING = re.compile(
    rf"{_TYPE}(?P<dims>\[(?:{_DIM},)*(?:{_DIM})?"
    rf"(?:(?<!,)\](?P<layout>\{{(?:{_INT},)*(?:{_INT})?(?::{_PROPERTIES}{_METADATA})?)?)?)?"
)
INDEX_COMMENT = re.compile(rf", /\*index={_INT}\*/")
_SEPARATOR = re.compile(rf", (?:/\*index={_INT}\*/)?")
_CLOSING = {
    "(": (re.compile(r"\)"), "', ' or ')'"),
    "b(": (re.compile(r"\)"), "')'"),
    "P(": (re.compile(rf"\){_METADATA}\}}"), "')' and the end of the layout"),
}
LONG_INT = re.compile(r"(?<![a-z0-9-])[0-9]{19,}")


class ShapeError(ValueError):
    """A `text` that is not a shape: at `offset` (0-based, in characters) `expected` is missing."""

    def __init__(self, offset: int, expected: str, found: str, text: str = "") -> None:
        super().__init__(offset, expected, found, text)
        self.text = text
        self.offset = offset
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"shape, offset {self.offset}: expected {self.expected}, found {self.found}"


def has_dynamic(dims: str) -> bool:
    """Return whether dimensions, as printed, have one that is bounded or unknown."""
    return "?" in dims or "<" in dims


def leaves(text: str) -> list[str]:
    """The shapes at any depth that are not tuples, in order; a shape that is not a tuple is its own only leaf."""
    return [text[start:end] for start, end in scanned(text).leaves]


def subshape(text: str, index: tuple[int, ...]) -> str | None:
    """The text at a shape index (`ShapeUtil::GetSubshape`), None if there is none; `()` is the whole text."""
    inside = scanned(text).inside
    start, end = 0, len(text)
    for number in index:
        elements = inside.get(start, ())
        if not 0 <= number < len(elements):
            return None
        start, end = elements[number]
    return text[start:end]


def without_layout(text: str) -> str:
    """The text as `ShapeUtil::PrintHumanString` prints the same shape: no layouts, index comments kept."""
    kept, position = [], 0
    for start, end in scanned(text).layouts:
        kept.append(text[position:start])
        position = end
    return "".join([*kept, text[position:]])


def _error(text: str, offset: int, expected: str) -> ShapeError:
    found = repr(text[offset : offset + 80]) if offset < len(text) else "the end of the text"
    return ShapeError(offset, expected, found, text)


def _array_error(text: str, start: int) -> ShapeError:
    beginning = _BEGINNING.match(text, start)
    if beginning is None:
        return _error(text, start, "a shape")
    if beginning["layout"]:
        expected = "a layout property in XLA's order, or '}'"
    else:
        expected = "a dimension, ',' or ']'" if beginning["dims"] else "'['"
    return _error(text, beginning.end(), expected)


class _Scan:
    """One pass over a shape text: checks all of it, and notes the places of its parts as (start, end).

    `inside` has the elements of every tuple, by the start of the tuple.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_dynamic = False
        self.inside: dict[int, list[tuple[int, int]]] = {}
        self.leaves: list[tuple[int, int]] = []
        self.layouts: list[tuple[int, int]] = []
        # Brackets not yet closed: which one, where its shape starts, where the layout of that starts (or -1).
        self._open: list[tuple[str, int, int]] = []
        self._open_buffers = 0
        self._open_physicals = 0
        if text == _UNKNOWN_SHAPE:
            self.leaves.append((0, len(text)))
            return
        for number in LONG_INT.finditer(text):
            if len(number[0]) > 19 or int(number[0]) > LARGEST_INT:
                raise _error(text, number.start(), "an integer of at most 2^63 - 1")
        position: int | None = 0
        while position is not None:
            position = self._close(self._begin(position))

    @property
    def elements(self) -> list[tuple[int, int]]:
        """The direct elements, if the whole text is a tuple."""
        return self.inside.get(0, [])

    def _begin(self, position: int) -> int:
        """Read from the start of a shape to the end of the first complete one, and return that place."""
        text = self.text
        while not text.startswith("()", position):
            if text.startswith("(", position):
                self._open.append(("(", position, -1))
                position += 1
            elif text.startswith("b(", position):
                self._open.append(("b(", position, -1))
                self._open_buffers += 1
                position += 2
            else:
                match = ARRAY.match(text, position)
                if match is None or text.startswith("{", match.end()):
                    raise _array_error(text, position)
                self.is_dynamic = self.is_dynamic or has_dynamic(match["dims"])
                if match["physical"] is None:
                    self._complete("[", position, match.start("braces"), match.end())
                    return match.end()
                self._open.append(("P(", position, match.start("braces")))
                self._open_physicals += 1
                position = match.end()
        self._complete("(", position, -1, position + 2)
        return position + 2

    def _close(self, position: int) -> int | None:
        """Continue behind a complete shape: return where the next one starts, None at the end of the text."""
        while self._open:
            bracket, start, layout_start = self._open[-1]
            if bracket == "(" and (separator := _SEPARATOR.match(self.text, position)):
                return separator.end()
            pattern, expected = _CLOSING[bracket]
            closing = pattern.match(self.text, position)
            if closing is None:
                raise _error(self.text, position, expected)
            position = closing.end()
            self._open.pop()
            self._open_buffers -= bracket == "b("
            self._open_physicals -= bracket == "P("
            self._complete(bracket, start, layout_start, position)
        if position < len(self.text):
            raise _error(self.text, position, "the end of the text")
        return None

    def _complete(self, bracket: str, start: int, layout_start: int, end: int) -> None:
        if self._open_physicals:
            return
        if layout_start >= 0:
            self.layouts.append((layout_start, end))
        if bracket != "(" and not self._open_buffers:
            self.leaves.append((start, end))
        if self._open and self._open[-1][0] == "(":
            self.inside.setdefault(self._open[-1][1], []).append((start, end))


# Callers ask several things about one text in a row, or one large tuple for each element: a small cache is enough.
scanned = lru_cache(maxsize=8)(_Scan)


def remembered(count: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that keeps the answers for `count` texts, without long ones: a text may be a whole dump."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        kept = lru_cache(count)(function)

        def bounded(text: str) -> T:
            return kept(text) if len(text) <= _LONGEST_REMEMBERED else function(text)

        bounded.cache_clear = kept.cache_clear  # what measures readers has them begin alike
        return bounded

    return decorate


_SYNC_FLAG_MEMORY_SPACE = 2
_POINTER_BYTES = 8
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
    `layout`: minor-to-major as printed (`1,0`); "" for `{:T(128)}`, None if no layout is printed.
    `tiles`: all of them as printed, `(8,128)(2,1)`.
    `layout_memory_space`: S(n) of the layout, 0 if none is printed and for tuples.
    `element_bits`: E(n), else the bits of an unpacked element of the type; None for token and opaque.
    `logical_bytes`: `ShapeUtil::ByteSizeOf(shape, 8)`, for a tuple 8 per direct element.
    `physical_bytes`: `ShapeUtil::ArraySize`, the dimensions rounded up to the first tile. Equal to
        `logical_bytes` without tiles, for sync flags (memory space 2: TPU ignores their tile) and for tuples.
        A slot may be larger still, and the rest is slack: an untiled scalar on TPU takes up to 4096 bytes, a
        bounded dynamic shape on CPU and GPU 4 more per dimension.
    `tuple_arity`: number of direct elements; None for anything but a tuple.

    Facts that a shape does not have are None: a tuple has no element type, dims, layout, tiles or bits; the unknown
    shape and a buffer of a tuple have no sizes either. Sizes are also None for a `?` dimension, for an
    unknown element type without E(n) and above 2^63 - 1; if the layout does not fit the dimensions, only the
    physical size is None.
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
    """Return what a shape text says.

    Raises:
        ShapeError: the text is not exactly one shape of the grammar.
    """
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
    return size if size <= LARGEST_INT else None


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
    """The sizes of the dimensions, most minor first; for a split dimension (`SC`) the size of its largest piece."""
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
    """Multiply sizes, and stop when the product is too large: that of 64,000 sizes would have millions of digits."""
    elements = 0 if 0 in sizes else 1
    for size in sizes:
        elements = min(elements * size, _TOO_MANY)
    return elements


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")] if text else []


def _rounded_up(size: int, step: int) -> int:
    return -(-size // step) * step
