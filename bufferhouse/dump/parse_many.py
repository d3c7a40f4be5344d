"""Many dumps read at once: the same patterns over the joined sections of all dumps.

A small dump costs more by what is done once for each than by its text, so its sections are cut out, joined with those
of its neighbours and read by one `findall` for all. The proofs are those of `parse`; where one of them fails, or a dump
is printed in a way that is not read here, the answer is None: `parse` reads each alone, and says what is wrong.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from operator import gt

from bufferhouse.dump import allocations, grammar, live_range, stack_trace
from bufferhouse.dump import used_values as blocks
from bufferhouse.dump.columns import Dumps, Facts, parts
from bufferhouse.dump.errors import DumpError
from bufferhouse.dump.instruction_end import LIVE_RANGE_MARK
from bufferhouse.dump.parse import decode
from bufferhouse.dump.tiling import LARGEST_SIZE, content_end, optional_ints

LARGEST_TEXT = 1 << 18  # of a larger one, what is done once for each dump is no matter
_LIVE_RANGES_AT = "\n  Live ranges at "


@dataclass(slots=True)
class Sections:
    """A dump cut into its unread sections, and the facts that it holds once.

    `allocations`, `schedule`, `ranges` and `peak` are whole lines; `rows` counts those of each table.
    """

    facts: Facts
    allocations: str
    blocks: str
    schedule: str
    ranges: str
    peak: str
    rows: dict[str, int]

    @property
    def form(self) -> tuple[bool, bool | None]:
        """The printed form of instruction texts, which dumps must share to be read together."""
        return self.facts.is_glued, self.facts.has_instruction_space


def sections(files: Mapping[str, bytes]) -> Sections | None:
    """Cut one dump, given by role, into its sections; None if it must be read alone."""
    if sum(map(len, files.values())) > LARGEST_TEXT or files.keys() == {"allocations"}:
        return None
    texts, encoding = decode(files)
    found = Sections(Facts(text_encoding=encoding), "", "", "", "", "", {})
    is_cut = _cut_combined(found, texts["combined"]) if len(texts) == 1 else _cut_split(found, texts)
    # Few dumps are read alone: dialects without instruction texts, and values of another memory space.
    text = found.blocks.find(grammar.INSTRUCTION_PREFIX) + len(grammar.INSTRUCTION_PREFIX)
    found.facts.has_instruction_space = found.blocks.startswith(" ", text)
    if not is_cut or not found.blocks.startswith("<") or grammar.CROSS_HEADER in found.allocations:
        return None
    return found


def _cut_combined(found: Sections, text: str) -> bool:
    end = text.find("\n\n")
    if end < 0 or not _cut_allocations(found, text, end + 1):
        return False
    start = _cut_totals(found, text, end + 1)
    stop = text.find(LIVE_RANGE_MARK, start)
    if start < 0 or stop < 0 or text.find(LIVE_RANGE_MARK, stop + 1) >= 0:
        return False
    found.blocks = text[start:stop]
    found.facts.is_glued = not found.blocks.endswith("\n")
    return _cut_live_range(found, text, stop + 2, "combined")


def _cut_split(found: Sections, texts: Mapping[str, str]) -> bool:
    if len(texts) < 3:
        return False
    found.facts.file_layout = "split"
    first, values = texts["allocations"], texts["values"]
    stop, end = content_end(first), content_end(values)
    start = _cut_totals(found, values, 0) if _cut_allocations(found, first, stop) else -1
    found.facts.trailing_newlines = {"allocations": len(first) - stop, "values": len(values) - end}
    found.blocks = values[start:end]
    return start >= 0 and found.blocks.endswith("\n") and _cut_live_range(found, texts["live_range"], 0, "live_range")


def _cut_allocations(found: Sections, text: str, stop: int) -> bool:
    section = found.allocations = text[len(grammar.FIRST_LINE) : stop]
    found.rows["allocations"] = section.count("\nallocation ") + 1
    found.rows["values"] = section.count("\n value: ")
    return text.startswith(grammar.FIRST_LINE) and section.startswith("allocation ") and section.endswith("\n")


def _cut_totals(found: Sections, text: str, start: int) -> int:
    """Return where the used values begin, -1 where something else stands there."""
    totals = grammar.TOTALS.match(text, start)
    if totals is None or not text.startswith(grammar.USED_VALUES, totals.end()):
        return -1
    found.facts.total_bytes, found.facts.total_human = int(totals[1]), totals[2]
    return totals.end() + len(grammar.USED_VALUES)


def _cut_live_range(found: Sections, text: str, start: int, role: str) -> bool:
    facts = found.facts
    head = grammar.LIVE_RANGE.match(text, start)
    ranges_at = text.find("\n" + grammar.RANGES_HEADER, head.end() - 1) + 1 if head else 0
    ranges = ranges_at + len(grammar.RANGES_HEADER)
    peak_at = text.find(_LIVE_RANGES_AT, ranges - 1) + 1 if ranges_at else 0
    peak = grammar.PEAK_HEADER.match(text, peak_at) if peak_at else None
    if peak is None:
        return False
    stop = end = content_end(text)
    if (trace_at := text.find("\n" + grammar.TRACE_HEADER, peak.end() - 1) + 1) > 0:
        stop = trace_at
        try:
            end = stack_trace.parse(facts, text, stop, role)
        except DumpError:
            return False
    facts.trailing_newlines[role] = len(text) - end
    facts.max_position, facts.reported_peak_position = int(head[1]), int(peak[1])
    facts.live_range_state = "present"
    found.schedule, found.ranges = text[head.end() : ranges_at], text[ranges:peak_at]
    found.peak = text[peak.end() : stop]
    found.rows["schedule"] = facts.max_position
    found.rows["live_ranges"] = found.ranges.count("\n")
    found.rows["peak_buffers"] = found.peak.count("\n")
    return end <= len(text) and facts.reported_peak_position <= facts.max_position


def read(cuts: Sequence[Sections]) -> Dumps | None:
    """Read dumps of one form; None if one of them is not a dump, or must be read alone."""
    dumps = Dumps(facts=[cut.facts for cut in cuts])
    for table in cuts[0].rows:
        dumps.rows[table] = [cut.rows[table] for cut in cuts]
    dumps.rows["cross_color_values"] = [0] * len(cuts)
    text = "\n" + "".join([cut.allocations for cut in cuts])
    heads = allocations.fill(dumps, text, 1, len(text), dumps.rows["allocations"], dumps.rows["values"])
    if heads is None or not _totals_are_right(dumps) or not _read_blocks(dumps, cuts, heads):
        return None
    return dumps if _read_live_ranges(dumps, cuts) else None


def _totals_are_right(dumps: Dumps) -> bool:
    sizes = parts(dumps.allocations.size_bytes, dumps.rows["allocations"])
    totals = [facts.total_bytes for facts in dumps.facts]
    return list(map(sum, sizes)) == totals and max(totals) <= LARGEST_SIZE


def _read_blocks(dumps: Dumps, cuts: Sequence[Sections], heads: list[str]) -> bool:
    text = "".join([cut.blocks for cut in cuts])
    is_glued, has_space = cuts[0].form
    # No match can go on from one dump into the next: that begins with a head, which no other line of a block is.
    pattern = grammar.BLOCK_GLUED if is_glued else grammar.BLOCK_WITH_INSTRUCTION
    cut = blocks.tiled(text, 0, len(text), heads, pattern)
    if cut is None or cut.has_space != has_space or not blocks.fill(dumps, cut):
        return False
    counts = dumps.rows["values"]
    dumps.rows["positions"] = list(map(sum, parts(dumps.positions.count, counts)))
    dumps.rows["uses"] = list(map(sum, parts(dumps.uses.count, counts)))
    for facts, uses in zip(dumps.facts, parts(cut.uses, counts), strict=True):
        facts.has_used_values = facts.has_instruction_texts = True
        forms = blocks.none_forms(uses)
        if len(forms) > 1:
            return False
        facts.none_form = forms[0] if forms else None
    return True


def _read_live_ranges(dumps: Dumps, cuts: Sequence[Sections]) -> bool:
    counts = dumps.rows["schedule"]
    columns = _columns(grammar.SEQUENCE, [cut.schedule for cut in cuts], counts)
    if columns is None or [cut.schedule.count("\n") for cut in cuts] != counts:
        return False
    numbers, names = columns
    if list(numbers) != list(map(str, chain.from_iterable(map(range, counts)))):
        return False
    dumps.schedule = list(names)
    columns = _columns(grammar.RANGE, [cut.ranges for cut in cuts], dumps.rows["live_ranges"])
    if columns is None:
        return False
    names, indices, starts, ends = columns
    table = dumps.live_ranges
    table.instruction, table.shape_index = list(names), list(indices)
    table.start_position, table.end_position = list(map(int, starts)), list(map(int, ends))
    if any(map(gt, table.start_position, table.end_position)):
        return False
    columns = _columns(grammar.PEAK, [cut.peak for cut in cuts], dumps.rows["peak_buffers"])
    if columns is None:
        return False
    names, indices, sizes, sums = columns
    table = dumps.peak_buffers
    table.instruction, table.shape_index = list(names), list(indices)
    table.listed_bytes, table.cumulative_bytes = list(map(int, sizes)), optional_ints(sums)
    return max(table.listed_bytes, default=0) <= LARGEST_SIZE and _live_ranges_hold(dumps)


def _columns(line: re.Pattern[str], pieces: Sequence[str], counts: Sequence[int]) -> list[tuple[str, ...]] | None:
    """Return the cells of lines, column by column; None where one of them does not match."""
    rows = line.findall("".join(pieces))
    if len(rows) != sum(counts):
        return None
    return list(zip(*rows, strict=True)) or [()] * line.groups


def _live_ranges_hold(dumps: Dumps) -> bool:
    """Say whether the assertions of `live_range.parse` hold for each dump; add the indices that peaks do not show."""
    ranges, peaks, counts = dumps.live_ranges, dumps.peak_buffers, dumps.rows
    keys = list(zip(ranges.instruction, ranges.shape_index, strict=True))
    recovered: list[str] = []
    for facts, names, own, starts, ends, *lines in zip(
        dumps.facts,
        parts(dumps.schedule, counts["schedule"]),
        parts(keys, counts["live_ranges"]),
        parts(ranges.start_position, counts["live_ranges"]),
        parts(ranges.end_position, counts["live_ranges"]),
        parts(peaks.instruction, counts["peak_buffers"]),
        parts(peaks.shape_index, counts["peak_buffers"]),
        parts(peaks.listed_bytes, counts["peak_buffers"]),
        parts(peaks.cumulative_bytes, counts["peak_buffers"]),
        strict=True,
    ):
        known, peak = set(names), facts.reported_peak_position
        if len(known) != len(names) or len(set(own)) != len(own) or max(ends, default=0) > facts.max_position:
            return False
        if not known.issuperset([name for name, _ in own]):
            return False
        covering = [key for key, start, end in zip(own, starts, ends, strict=True) if start <= peak <= end]
        indices = _peak_indices(facts, covering, *lines)
        if indices is None:
            return False
        recovered += indices
    peaks.shape_index = recovered
    return True


def _peak_indices(
    facts: Facts,
    covering: list[tuple[str, str]],
    names: list[str],
    indices: list[str],
    listed: list[int],
    sums: list[int | None],
) -> list[str] | None:
    """Return the shape indices of the peak lines of a dump; None where the lines are not those of its peak."""
    if len(names) != len(covering):
        return None
    if not names:
        return []
    summed = len(sums) - sums.count(None)
    facts.peak_form = live_range.peak_form(len(names), indices.count(""), summed)
    found = live_range.recovered(names, covering) if facts.peak_form == "name" else indices
    if facts.peak_form is None or found is None or set(zip(names, found, strict=True)) != set(covering):
        return None
    if summed and (list(accumulate(listed)) != sums or sums[-1] > LARGEST_SIZE):
        return None
    return found
