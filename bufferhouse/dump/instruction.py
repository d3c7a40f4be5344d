"""Where an instruction text ends, and what stands in it.

The text is `HloInstruction::ToString()` (xla/hlo/ir/hlo_instruction.cc): the only free text of a dump. It is one line,
unless a user's `backend_config` or an unescaped attribute brought line feeds of its own, and in dialect D7 its final
line feed is missing.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from bufferhouse.dump import explain, grammar
from bufferhouse.dump.tiling import content_end

LIVE_RANGE_MARK = "\n\n" + grammar.LIVE_RANGE_START
CONFIG = ", backend_config="

_HEADS = re.compile(rf"{grammar.VALUE_HEAD}(?=\n positions:\n)")


class Ends:
    """Finds where instruction texts end: where all brackets are closed and the next block or section begins."""

    def __init__(self, text: str, start: int, role: str) -> None:
        self.text = text
        self.role = role
        marks = re.finditer(re.escape(LIVE_RANGE_MARK), text) if role == "combined" else ()
        ends = [mark.start() for mark in marks if mark.start() > start]
        # Every place where a text may end, with what begins there: the head of a block, "" for what follows the last.
        self.begins = dict.fromkeys(ends or [min(content_end(text), len(text))], "")
        self.begins |= {match.start(): match[0] for match in _HEADS.finditer(text, start)}
        self.places = sorted(self.begins)
        # Texts that never close make every search run on; the budget keeps the sum of all searches linear.
        self.budget = 2 * len(text)

    def end_of(self, start: int, following: str) -> int:
        """Return where the text that starts at `start` ends and `following` begins.

        Where brackets are never closed, because XLA printed the quotes of a user as they were (frontend attributes
        until 2025-04, some names), a text ends at the first place where it may.

        Raises:
            DumpError: something else than `following` begins there, or lines stand behind the end of the instruction.
        """
        number = bisect_right(self.places, start)
        first = self.places[number] if number < len(self.places) else len(self.text)
        closed = self._first_closed(start, number) if self.budget > 0 else None
        place = next((place for place in (closed, first) if self.begins.get(place) == following), None)
        if closed is not None and place != closed:
            self.budget -= closed - start
        stop = place or closed or first
        foreign = self._foreign_line(start, stop)
        if place is not None and foreign is None:
            return place
        at = stop if foreign is None else foreign
        if following:
            raise explain.block(self.text, at, following, self.role)
        raise explain.behind_last_block(self.text, at, self.role)

    def _first_closed(self, start: int, first: int) -> int | None:
        """Return the first place, from number `first` on, where all brackets are closed; None where there is none."""
        brackets = Brackets(self.text, start)
        for number in range(first, len(self.places)):
            place = self.places[number]
            if brackets.closed_at(place) and not self.text[place - 2 : place].rstrip("\n").endswith("="):
                self.budget -= brackets.read - place
                return place
            if brackets.read - start > self.budget:
                break
        self.budget -= brackets.read - start
        return None

    def _foreign_line(self, start: int, stop: int) -> int | None:
        """Return the first line before `stop` that is no part of the instruction; None where there is none."""
        line_end = self.text.find("\n", start, stop - 1)
        if line_end < 0:
            return None
        brackets = Brackets(self.text, start, stop)
        # A raw config may begin and end in line feeds and comments of its own.
        config = self.text.rfind(CONFIG, start, stop)
        blank = _BLANK.match(self.text, config + len(CONFIG), stop)
        is_raw = config >= 0 and self.text.startswith("{", blank.end())
        leading = range(*blank.span()) if is_raw else range(0)
        while line_end >= 0 and (line_end in leading or not brackets.closed_at(line_end)):
            line_end = self.text.find("\n", line_end + 1, stop)
        if line_end < 0 or line_end == stop - 1:
            return None
        if is_raw and any(_BLANK.fullmatch(self.text, at, stop) for at in (brackets.behind, line_end)):
            return None
        return line_end + 1


_BLANK = re.compile(r"(?:[ \t\r\n\v\f]++|//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*\*/)*")  # what LexesAsJsonDict skips
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*(?:"|\\?\Z)|[{}]++|[()\[\]]++', re.DOTALL)


class Brackets:
    """Follows the quotes and brackets of a text; inside braces only braces count, as in HloLexer::LexJsonDict."""

    def __init__(self, text: str, start: int, stop: int | None = None, *, depth: int = 0) -> None:
        self.depth = depth
        self.braces = 0
        self.behind = start  # the character behind the last token taken
        self.stop = len(text) if stop is None else stop
        self.tokens = _TOKEN.finditer(text, start, self.stop)
        self.pending = next(self.tokens, None)

    @property
    def read(self) -> int:
        """The character up to which the text was looked at."""
        return self.stop if self.pending is None else self.pending.end()

    def closed_at(self, place: int) -> bool:
        """Say whether all quotes and brackets opened before `place` are closed there; places must ascend."""
        while self.pending and self.pending.end() <= place:
            self.take()
        return not self.depth and not self.braces and (self.pending is None or self.pending.start() >= place)

    def take(self) -> None:
        """Go past the next token."""
        token = self.pending[0]
        if token[0] in "{}":
            self.braces += token.count("{") - token.count("}")
        elif token[0] != '"' and not self.braces:
            opened = token.count("(") + token.count("[")
            self.depth += opened - (len(token) - opened)
        self.behind = self.pending.end()
        self.pending = next(self.tokens, None)


@dataclass(frozen=True, slots=True)
class Attributes:
    """What the columns of `raw.instruction_texts` take from one instruction text, unescaped; None where not printed."""

    instruction_name: str
    opcode: str | None
    op_name: str | None
    source_file: str | None
    source_line: int | None
    stack_frame_id: int | None
    custom_call_target: str | None


_OPCODE = re.compile(rf"%({grammar.NAME}) = (?:[^ ]++ )+?([a-z][a-z0-9\-]++)\(")
_STRING = r'"([^"\\]*+(?:\\.[^"\\]*+)*)"'
_METADATA = re.compile(
    # The only name that is not escaped ends at the quote behind which the next item, or nothing, begins.
    r'scheduling_name=".*?"(?: (?=[a-z_]++=)|(?=\}))'
    rf"|([a-z_]++)=(?:{_STRING}|([^ \"{{}}]++)|\{{[^{{}}]*+\}}) ?",
    re.DOTALL,
)
_METADATA_MARK = ", metadata={"
_TARGET = re.compile(rf", custom_call_target={_STRING}", re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_PLAIN_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


@lru_cache(maxsize=65536)
def attributes(text: str) -> Attributes:
    """Read opcode and metadata out of an instruction text (HloInstruction::PrintWithCanonicalNameMap)."""
    match = _OPCODE.match(text)
    if match is None:
        name = text[1:].split(" ", 1)[0]
        return Attributes(name, None, None, None, None, None, None)
    found: dict[str, str] = {}
    start = _metadata_start(text, match.end())
    while start >= 0 and (item := _METADATA.match(text, start)):
        if item[1]:
            found[item[1]] = item[3] or item[2] or ""
        start = item.end()
    target = _TARGET.search(text, match.end()) if match[2].startswith("custom-call") else None
    return Attributes(
        match[1],
        match[2],
        _unescaped(found.get("op_name")),
        _unescaped(found.get("source_file")),
        _number(found.get("source_line")),
        _number(found.get("stack_frame_id")),
        _unescaped(target[1]) if target else None,
    )


def _metadata_start(text: str, start: int) -> int:
    """Return where the items of the top-level `metadata={…}` begin, -1 where there is none.

    The same words may stand inside an attribute before it or inside the `backend_config` behind it; only where the
    first hit has quotes or open braces before it does the text have to be followed bracket by bracket.
    """
    hit = text.find(_METADATA_MARK, start)
    if hit < 0:
        return -1
    if text.find('"', start, hit) >= 0 or text.count("{", start, hit) != text.count("}", start, hit):
        brackets = Brackets(text, start, depth=1)  # that of the operands
        while hit >= 0 and not brackets.closed_at(hit):
            hit = text.find(_METADATA_MARK, hit + 1)
        if hit < 0 and brackets.closed_at(len(text)):
            return -1
        if hit < 0:  # quotes that XLA did not escape
            hit = text.rfind(_METADATA_MARK, start)
    return hit + len(_METADATA_MARK)


def _number(text: str | None) -> int | None:
    is_number = text and len(text) <= 18 and text.isascii() and text.isdigit()
    return int(text) if is_number else None


def _unescaped(text: str | None) -> str | None:
    """Undo absl::CEscape; bytes above 0x7f come back as the UTF-8 text they were, else as latin-1."""
    if text is None or "\\" not in text:
        return text
    plain = _ESCAPE.sub(
        lambda m: bytes([int(m[1], 8) & 0xFF]) if m[1][:1].isdigit() else _PLAIN_ESCAPES.get(m[1], m[1]),
        text.encode(),
    )
    try:
        return plain.decode()
    except UnicodeDecodeError:
        return plain.decode("latin-1")
