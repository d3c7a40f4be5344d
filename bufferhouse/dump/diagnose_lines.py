"""The lines of a dump as lists of parts, to find the part of a line that is wrong.

`grammar` says whether a section is right, as fast as possible; this says where it stops being so, as precisely as
possible, and runs only on input that is refused.
"""

import re
from collections.abc import Sequence
from functools import cache

from bufferhouse.dump import grammar
from bufferhouse.dump.columns import LARGEST_SIZE
from bufferhouse.dump.errors import DumpError, error_at
from bufferhouse.dump.grammar import LARGEST_INT

Part = "tuple[str, str] | list[Part]"  # a pattern and what it is called; a list is optional
_compiled = cache(re.compile)  # compiled on demand: valid dumps need none of these


def literal(text: str) -> Part:
    """Return the part that is exactly `text`."""
    return re.escape(text), repr(text)


def _up_to(limit: int) -> str:
    return rf"{grammar.up_to(limit)}(?![0-9])"


_NO_SIGN = "without sign or leading zeros"
_INT = (_up_to(LARGEST_INT), f"a number below 2^63 {_NO_SIGN}")
_POSITIVE = (rf"(?!0){_up_to(LARGEST_INT)}", f"a number from 1 to 2^63 - 1 {_NO_SIGN}")
_SIZE = (_up_to(LARGEST_SIZE), f"a number of at most 2^53 bytes {_NO_SIGN}")
_NAME = (grammar.NAME, "an instruction name")
_INDEX = (grammar.INDEX, "a shape index like {0,1}")
_SHAPE = (grammar.SHAPE, "a shape")
_END = (r"\n", "the end of the line")
_EMPTY_LINE = (r"\n", "an empty line")
_HEAD = [literal("<"), _INT, literal(" "), _NAME, [_INDEX], [literal(" (phi)")], [literal(" @"), _INT], literal(">")]

FIRST_LINE = [literal("BufferAssignment:"), _END]
HEADER = [
    literal("allocation "), _INT, literal(": "), [("0x[0-9a-f]+", "a pointer"), literal(", ")],
    literal("size "), _SIZE, [literal(", color "), _POSITIVE],
    [literal(", page "), (rf"-[1-9][0-9]{{0,17}}(?![0-9])|{_up_to(LARGEST_INT)}", "a page number")],
    [
        literal(", parameter "), _INT, [literal(", shape |"), _SHAPE, literal("|")],
        literal(" at ShapeIndex "), _INDEX,
    ],
    [literal(", output shape is |"), _SHAPE, literal("|")],
    [literal(", constant")], [literal(", thread-local")], [literal(", maybe-live-out")],
    [literal(", preallocated-temp")], literal(":"), _END,
]  # fmt: skip
VALUE = [
    literal(" value: "), *_HEAD, literal(" (size="), _SIZE, literal(",offset="), _SIZE, literal("): "), _SHAPE, _END,
]  # fmt: skip
CROSS_HEADER = [literal(grammar.CROSS_HEADER[:-1]), _END]
CROSS = [literal("  value: "), *_HEAD, literal(" (color="), _INT, literal(")"), _END]
TOTALS = [
    _EMPTY_LINE, literal("Total bytes used: "), _SIZE,
    [literal(" ("), (grammar.HUMAN, "a size like 18.5KiB"), literal(")")], _END,
]  # fmt: skip
USED_VALUES = [_EMPTY_LINE, literal("Used values:"), _END]
POSITION = [literal("  "), _NAME, [literal(" "), _INDEX], _END]
POSITIONS = [_END, literal(" positions:"), _END, *POSITION]
USES_UNINITIALIZED = [literal(grammar.USES_UNINITIALIZED[:-1]), _END]
USES = [literal(" uses:"), _END]
NO_USES = [literal("  (none)"), _END]
USE = [literal("  "), _NAME, literal(", operand "), _INT, [literal(" "), _INDEX], _END]
INSTRUCTION = [
    literal(grammar.INSTRUCTION_PREFIX), [literal(" ")], (grammar.INSTRUCTION, "an instruction ('%name = …')"),
    (r"[^\n]+", "an instruction"),
]  # fmt: skip
LIVE_RANGE = [literal("HloLiveRange (max "), _INT, literal("):"), _END, literal("  InstructionSequence:"), _END]
LIVE_RANGE_UNAVAILABLE = [literal(grammar.LIVE_RANGE_UNAVAILABLE)]
SEQUENCE = [literal("    "), _INT, literal(":"), _NAME, _END]
RANGE = [literal("    "), _NAME, _INDEX, literal(":"), _INT, literal("-"), _INT, _END]
PEAK_HEADER = [literal("  Live ranges at "), _INT, literal(" (peak):"), _END]
PEAK = [
    literal("    "), _NAME, [_INDEX], literal(": "), _SIZE, literal(" bytes"),
    [literal(" (cumulative: "), _SIZE, literal(" bytes)")], _END,
]  # fmt: skip
TRACE_HEADER = [
    literal(grammar.TRACE_HEADER), (grammar.SPACED, "a number of bytes in groups of three digits"),
    literal(" bytes"), _END,
]  # fmt: skip


class Furthest:
    """The furthest character at which a part failed, and everything that was expected there."""

    def __init__(self) -> None:
        self.offset = -1
        self.expected: list[str] = []

    def note(self, offset: int, expected: str) -> None:
        """Remember that `expected` was not found at `offset`."""
        if offset > self.offset:
            self.offset, self.expected = offset, []
        if offset == self.offset and expected not in self.expected:
            self.expected.append(expected)

    def error(self, text: str, role: str) -> DumpError:
        """Return the error for the furthest character."""
        *others, last = self.expected
        return error_at(text, self.offset, f"{', '.join(others)} or {last}" if others else last, role=role)


def follow(text: str, at: int, parts: Sequence[Part], furthest: Furthest) -> int | None:
    """Return the character behind `parts` matched at `at`, None where one of them does not match."""
    for part in parts:
        if isinstance(part, list):
            after = follow(text, at, part, furthest)
            at = at if after is None else after
            continue
        pattern, expected = part
        match = _compiled(pattern).match(text, at)
        if match is None:
            furthest.note(at, expected)
            return None
        at = match.end()
    return at


def refuse(text: str, at: int, role: str, *alternatives: Sequence[Part]) -> DumpError:
    """Return the error for a place where one of `alternatives` should stand; called only where none does."""
    furthest = Furthest()
    for parts in alternatives:
        follow(text, at, parts, furthest)
    return furthest.error(text, role)


def refuse_lines(text: str, at: int, parts: Sequence[Part], then: str, role: str) -> DumpError:
    """Return the error for lines of one kind, followed by `then`, that stop being so somewhere behind `at`."""
    while True:
        furthest = Furthest()
        end = follow(text, at, parts, furthest)
        if end is None:
            if furthest.offset == at:
                furthest.note(at, then)
            return furthest.error(text, role)
        at = end
