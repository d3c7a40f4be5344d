"""The value blocks of `Used values` (HloValue::ToString): cut apart, and read.

A block is a head, positions, uses and, since 2021-09, the text of the instruction that defines the value.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from bufferhouse.dump import diagnose, grammar
from bufferhouse.dump.columns import Dump, Positions, content_end, optional, tiles
from bufferhouse.dump.instruction_end import CONFIG, LIVE_RANGE_MARK, Ends


@dataclass(slots=True)
class Blocks:
    """The raw pieces of every value block; `texts` is None in the dialects that print no instruction."""

    positions: Sequence[str]
    uses: Sequence[str]
    texts: Sequence[str] | None
    has_space: bool | None
    is_glued: bool
    stop: int  # the character behind the last block

    def starts(self, start: int, heads: Sequence[str]) -> list[int]:
        """Return where each block begins when the first one begins at `start`."""
        prefix = len(grammar.INSTRUCTION_PREFIX) + bool(self.has_space) + (not self.is_glued)
        texts = [0] * len(heads) if self.texts is None else [prefix + len(text) for text in self.texts]
        pieces = zip(heads, self.positions, self.uses, texts, strict=True)
        lengths = [len(head) + len("\n positions:\n") + len(p) + len(u) + text for head, p, u, text in pieces]
        return list(accumulate(lengths[:-1], initial=start))


def cut(text: str, start: int, heads: Sequence[str], role: str) -> Blocks:
    """Cut `Used values` into one block for each of `heads`, which are known from the value lines.

    Raises:
        DumpError: the section is not one block for every head, in order, all printed in the same dialect.
    """
    if not heads:
        return Blocks((), (), None, None, False, start)
    return _one_pass(text, start, heads, role) or _one_by_one(text, start, heads, role)


def _one_pass(text: str, start: int, heads: Sequence[str], role: str) -> Blocks | None:
    """Cut a section whose instruction texts have no line feed, as in practice all do; None if some have."""
    stop = text.find(LIVE_RANGE_MARK, start) if role == "combined" else -1
    if stop < 0:
        stop = content_end(text)
    elif text.find(LIVE_RANGE_MARK, stop + 1) >= 0:
        return None  # one of the two stands inside an instruction text or the stack trace
    if text.find(grammar.INSTRUCTION_PREFIX, start, stop) < 0:
        return _tiled(text, start, stop, heads, grammar.BLOCK)
    is_glued = _is_glued(text, start, stop, heads)
    return _tiled(text, start, stop, heads, grammar.BLOCK_GLUED if is_glued else grammar.BLOCK_WITH_INSTRUCTION)


def _tiled(text: str, start: int, stop: int, heads: Sequence[str], pattern: re.Pattern[str]) -> Blocks | None:
    """Cut a section into blocks that all match `pattern`; None where they do not, or leave something over."""
    rows = pattern.findall(text, start, stop)
    if len(rows) != len(heads):
        return None
    columns = list(zip(*rows, strict=True))
    is_glued = pattern is grammar.BLOCK_GLUED
    literal = len("\n positions:\n")
    if pattern is not grammar.BLOCK:
        literal += len(grammar.INSTRUCTION_PREFIX) + (not is_glued)
    if list(columns[0]) != heads or not tiles(columns, literal * len(rows), stop - start):
        return None
    if pattern is grammar.BLOCK:
        return Blocks(columns[1], columns[2], None, None, False, stop)
    if len(set(columns[3])) != 1:
        return None
    return Blocks(columns[1], columns[2], columns[4], bool(columns[3][0]), is_glued, stop)


def _is_glued(text: str, start: int, stop: int, heads: Sequence[str]) -> bool:
    """Return whether heads stand directly behind the instruction before them (jaxlib 0.4.24 to 0.4.35).

    In a section of one block the only sign is the line feed that is missing before the live range.
    """
    if len(heads) == 1:
        return not text.endswith("\n", start, stop)
    second = text.find(heads[1] + "\n positions:\n", start + 1, stop)
    return second > 0 and text[second - 1] != "\n"


def fill(dump: Dump, cut: Blocks) -> bool:
    """Fill the columns of positions, uses and texts; say whether every line was accounted for."""
    dump.values.instruction_text = list(cut.texts or ())
    return _fill_positions(dump.positions, cut.positions) and _fill_uses(dump, cut.uses)


def defined_elsewhere(dump: Dump) -> int | None:
    """Return the row of the first value whose first position is another (HloValue::defining_position), if any."""
    v, p = dump.values, dump.positions
    firsts = list(accumulate(p.count, initial=0))[:-1]
    found = zip([p.instruction[row] for row in firsts], [p.shape_index[row] for row in firsts], strict=True)
    own = zip(v.instruction, v.shape_index, strict=True)
    return next((row for row, (one, other) in enumerate(zip(found, own, strict=True)) if one != other), None)


def _fill_positions(table: Positions, pieces: Sequence[str]) -> bool:
    rows = grammar.POSITION.findall("".join(pieces))
    table.count = [piece.count("\n") for piece in pieces]
    if rows:
        names, indices = zip(*rows, strict=True)
        table.instruction = list(names)
        table.shape_index = optional(indices)
    return len(rows) == sum(table.count)


_EMPTY = {grammar.USES: "empty", grammar.NO_USES: "empty", grammar.USES_UNINITIALIZED: "uninitialized"}


def _fill_uses(dump: Dump, pieces: Sequence[str]) -> bool:
    rows = grammar.USE.findall("".join(pieces))
    table = dump.uses
    dump.values.uses_state = [_EMPTY.get(piece, "listed") for piece in pieces]
    table.count = [0 if piece in _EMPTY else piece.count("\n") - 1 for piece in pieces]
    if rows:
        names, operands, indices = zip(*rows, strict=True)
        table.instruction = list(names)
        table.operand_number = list(map(int, operands))
        table.operand_shape_index = optional(indices)
    return len(rows) == sum(table.count)


def none_forms(uses: Sequence[str]) -> list[str]:
    """Return the ways in which empty use lists are printed."""
    return [form for form, printed in (("empty", grammar.USES), ("none", grammar.NO_USES)) if printed in uses]


_FRONT = re.compile(rf"{grammar.BLOCK.pattern}(?: from instruction:( ?)(?={grammar.INSTRUCTION}[^\n]))?")


def _one_by_one(text: str, start: int, heads: Sequence[str], role: str) -> Blocks:
    """Cut a section whose texts hold line feeds; raise the error for its place if it is no such section."""
    fronts: list[re.Match[str]] = []
    ends: list[int] = []
    text_ends = Ends(text, start, role)
    at = start
    for head, following in zip(heads, [*heads[1:], ""], strict=True):
        front = _FRONT.match(text, at)
        if front is None or front[1] != head:
            may_be_instruction = bool(fronts) and fronts[0][4] is None
            raise diagnose.block(text, at, head, role, may_be_instruction=may_be_instruction)
        fronts.append(front)
        if front[4] != fronts[0][4] or (front[4] is None and text.startswith(grammar.INSTRUCTION_PREFIX, front.end())):
            raise diagnose.instruction(text, front.end(3), fronts[0][4], role)
        at = front.end() if front[4] is None else text_ends.end_of(front.end(), following)
        ends.append(at)
    positions, uses, space = [front[2] for front in fronts], [front[3] for front in fronts], fronts[0][4]
    if space is None:
        return Blocks(positions, uses, None, None, False, at)
    is_glued = any(text[end - 1] != "\n" for end in ends)
    texts = [text[front.end() : end - (not is_glued)] for front, end in zip(fronts, ends, strict=True)]
    # Where one line feed is missing, all are; only a raw config may end in one of its own. No split dump misses any.
    if is_glued and (role != "combined" or any(one.endswith("\n") and CONFIG not in one for one in texts)):
        raise diagnose.missing_line_feed(text, ends, role)
    return Blocks(positions, uses, texts, bool(space), is_glued, at)
