"""The grammar of XLA's shape texts: where the parts of one stand, and what is wrong with a text that is none.

Every function checks the whole text and raises ShapeError when it is not exactly one shape. All take time linear in
its length, and nothing recurses: shapes may be nested as deep as the text makes them.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")
_LONGEST_REMEMBERED = 1 << 12
_UNKNOWN_SHAPE = "<unknown shape>"
_INT64_MAX = 2**63 - 1

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
    """A `text` that is no shape: `offset` (0-based, in characters) is where `expected` did not stand."""

    def __init__(self, offset: int, expected: str, found: str, text: str = "") -> None:
        super().__init__(offset, expected, found, text)
        self.text = text
        self.offset = offset
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"shape, offset {self.offset}: expected {self.expected}, found {self.found}"


def has_dynamic(dims: str) -> bool:
    """Say whether dimensions, as printed, have one that is bounded or unknown."""
    return "?" in dims or "<" in dims


def tuple_elements(text: str) -> list[str]:
    """The texts of a tuple's direct elements, index comments removed. Raises ShapeError for anything else."""
    scan = scanned(text)
    if not text.startswith("("):
        raise _error(text, 0, "a tuple")
    return [text[start:end] for start, end in scan.elements]


def leaves(text: str) -> list[str]:
    """The shapes at any depth that are no tuples, in order; a shape that is no tuple is its own only leaf."""
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
    """One pass over a shape text: checks all of it, and notes as (start, end) where its parts stand.

    `inside` has the elements of every tuple by where it starts.
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
            if len(number[0]) > 19 or int(number[0]) > _INT64_MAX:
                raise _error(text, number.start(), "an integer of at most 2^63 - 1")
        position: int | None = 0
        while position is not None:
            position = self._close(self._begin(position))

    @property
    def elements(self) -> list[tuple[int, int]]:
        """The direct elements, where the whole text is a tuple."""
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
        """Go on behind a complete shape: return where the next one starts, None at the end of the text."""
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


# Callers ask several things of one text in a row, or one large tuple for each element: a few are enough.
scanned = lru_cache(maxsize=8)(_Scan)


def remembered(count: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that keeps the answers for `count` texts, none of them long: a dump may be one text."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        kept = lru_cache(count)(function)
        return lambda text: kept(text) if len(text) <= _LONGEST_REMEMBERED else function(text)

    return decorate
