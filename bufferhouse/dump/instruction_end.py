"""The end of an instruction text.

The text is `HloInstruction::ToString()` (xla/hlo/ir/hlo_instruction.cc): the only free text of a dump. It is one line,
unless a user's `backend_config` or an unescaped attribute brought line feeds of its own, and in dialect D7 its final
line feed is missing.
"""

import re
from bisect import bisect_right

from bufferhouse.dump import diagnose, grammar
from bufferhouse.dump.columns import content_end

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
            raise diagnose.block(self.text, at, following, self.role)
        raise diagnose.behind_last_block(self.text, at, self.role)

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
        """Return whether all quotes and brackets opened before `place` are closed there; places must ascend."""
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
