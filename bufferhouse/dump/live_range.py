"""The last section: the schedule, the live ranges, the printed peak (HloLiveRange::ToString)."""

import re
from collections.abc import Sequence
from operator import add, gt

from bufferhouse.dump import diagnose, diagnose_lines, grammar, stack_trace
from bufferhouse.dump.columns import LARGEST_SIZE, Dump, peak_form
from bufferhouse.dump.diagnose_lines import refuse, refuse_lines
from bufferhouse.dump.errors import error_at

_INDENTED = re.compile(r"(?:    [^\n]*+\n)*")


def parse(dump: Dump, text: str, start: int, role: str) -> int:
    """Read the section that starts at `start` into `dump`; return the character behind it.

    Raises:
        DumpError: a line that is none of this section, or a violated assertion: sequence numbers 0 to max - 1, every
            range inside the schedule, printed peak = the ranges that cover its position, cumulative column right.
    """
    head = grammar.LIVE_RANGE.match(text, start)
    if head is None:
        others = [diagnose_lines.LIVE_RANGE_UNAVAILABLE] if role == "live_range" else []
        raise refuse(text, start, role, diagnose_lines.LIVE_RANGE, *others)
    ranges_at = text.find("\n" + grammar.RANGES_HEADER, head.end() - 1) + 1
    if ranges_at == 0:
        raise refuse_lines(text, head.end(), diagnose_lines.SEQUENCE, "'  BufferLiveRange:'", role)
    _schedule(dump, text, head.end(), ranges_at, int(head[1]), head.start(1), role)
    start = ranges_at + len(grammar.RANGES_HEADER)
    peak_at = _first(text, start, "\n  Live ranges at ", "\n" + grammar.PEAK_UNBOUNDED)
    if peak_at == 0:
        raise refuse_lines(text, start, diagnose_lines.RANGE, "'  Live ranges at N (peak):'", role)
    _ranges(dump, text, start, peak_at, role)
    dump.live_range_state = "present"
    if text.startswith(grammar.PEAK_UNBOUNDED, peak_at):
        dump.live_range_state = "unbounded"
        return peak_at + len(grammar.PEAK_UNBOUNDED)
    peak = grammar.PEAK_HEADER.match(text, peak_at)
    if peak is None:
        raise refuse(text, peak_at, role, diagnose_lines.PEAK_HEADER)
    dump.reported_peak_position = int(peak[1])
    if dump.reported_peak_position > dump.max_position:
        expected = f"a position of at most {dump.max_position}"
        raise error_at(text, peak.start(1), expected, role=role, rule="peak_position")
    stop = _peak_buffers(dump, text, peak.end(), role)
    if text.startswith(grammar.TRACE_HEADER, stop):
        return stack_trace.parse(dump, text, stop, role)
    return stop


def _first(text: str, start: int, *markers: str) -> int:
    """Return where the first of some lines begins at or behind `start`, 0 where none does."""
    hits = [hit for marker in markers if (hit := text.find(marker, start - 1)) >= 0]
    return min(hits, default=-1) + 1


def _schedule(dump: Dump, text: str, start: int, stop: int, last: int, at: int, role: str) -> None:
    rows = grammar.SEQUENCE.findall(text, start, stop)
    if len(rows) != text.count("\n", start, stop):
        raise refuse_lines(text, start, diagnose_lines.SEQUENCE, "'  BufferLiveRange:'", role)
    numbers, names = zip(*rows, strict=True) if rows else ((), ())
    if list(numbers) != list(map(str, range(len(rows)))):
        row = next(row for row, number in enumerate(numbers) if number != str(row))
        raise diagnose.cell(text, start, row, grammar.SEQUENCE, 1, f"sequence number {row}", role=role, rule="sequence")
    if last != len(rows):
        expected = f"the number of lines of the sequence, {len(rows)}"
        raise error_at(text, at, expected, role=role, rule="max_position")
    if len(set(names)) != len(names):
        row = _first_repeated(names)
        expected = "an instruction that is not in the sequence yet"
        raise diagnose.cell(text, start, row, grammar.SEQUENCE, 2, expected, role=role, rule="sequence")
    dump.max_position = last
    dump.schedule = list(names)


def _first_repeated(keys: list | tuple) -> int:
    seen = set()
    return next(row for row, key in enumerate(keys) if key in seen or seen.add(key))


def _ranges(dump: Dump, text: str, start: int, stop: int, role: str) -> None:
    rows = grammar.RANGE.findall(text, start, stop)
    if len(rows) != text.count("\n", start, stop):
        raise refuse_lines(text, start, diagnose_lines.RANGE, "'  Live ranges at N (peak):'", role)
    names, indices, starts, ends = zip(*rows, strict=True) if rows else ((), (), (), ())
    table = dump.live_ranges
    table.instruction = list(names)
    table.shape_index = list(indices)
    table.start_position = list(map(int, starts))
    table.end_position = list(map(int, ends))
    known = set(dump.schedule)
    if not known.issuperset(names):
        row = next(row for row, name in enumerate(names) if name not in known)
        expected = "an instruction of the sequence"
        raise diagnose.cell(text, start, row, grammar.RANGE, 1, expected, role=role, rule="live_range")
    last = dump.max_position
    if max(table.end_position, default=0) > last or any(map(gt, table.start_position, table.end_position)):
        pairs = zip(table.start_position, table.end_position, strict=True)
        row = next(row for row, (begin, end) in enumerate(pairs) if not begin <= end <= last)
        expected = f"positions with start <= end <= {last}"
        raise diagnose.cell(text, start, row, grammar.RANGE, 3, expected, role=role, rule="live_range")
    if len(set(map(add, names, indices))) != len(rows):
        row = _first_repeated(list(map(add, names, indices)))
        expected = "a value without a live range above"
        raise diagnose.cell(text, start, row, grammar.RANGE, 1, expected, role=role, rule="live_range")


def _peak_buffers(dump: Dump, text: str, start: int, role: str) -> int:
    """Read the peak lines; return where they end."""
    stop = _INDENTED.match(text, start).end()
    rows = grammar.PEAK.findall(text, start, stop)
    names, indices, sizes, sums = zip(*rows, strict=True) if rows else ((), (), (), ())
    cumulative = len(rows) - sums.count("")
    listed = list(map(int, sizes))
    is_read = len(rows) == text.count("\n", start, stop) and max(listed, default=0) <= LARGEST_SIZE
    if not is_read or text.startswith("    ", stop):
        raise refuse_lines(text, start, diagnose_lines.PEAK, "the end of the file", role)
    if rows:
        dump.peak_form = peak_form(len(rows), indices.count(""), cumulative)
        if dump.peak_form is None:
            raise diagnose.mixed_peak_forms(text, start, indices, sums, role)
    covering = _covering(dump)
    keys = recovered(names, covering) if dump.peak_form == "name" else indices
    # No two ranges are of the same value, so sets of equal size are enough.
    if keys is None or len(rows) != len(covering) or set(zip(names, keys, strict=True)) != set(covering):
        raise diagnose.peak_set(text, start, names, indices, covering, role)
    table = dump.peak_buffers
    table.instruction = list(names)
    table.shape_index = list(keys)
    table.listed_bytes = listed
    table.cumulative_bytes = [int(cell) if cell else None for cell in sums]
    total = 0
    for row, size in enumerate(listed):
        total += size
        if cumulative and (table.cumulative_bytes[row] != total or total > LARGEST_SIZE):
            expected = f"the sum of the lines so far, {total}, and at most 2^53"
            raise diagnose.cell(text, start, row, grammar.PEAK, 4, expected, role=role, rule="cumulative_bytes")
    return stop


def _covering(dump: Dump) -> list[tuple[str, str]]:
    """Return the values alive at the printed peak, in the order of their ranges; ranges are closed at both ends."""
    table, peak = dump.live_ranges, dump.reported_peak_position
    return [
        (name, index)
        for name, index, begin, end in zip(
            table.instruction, table.shape_index, table.start_position, table.end_position, strict=True
        )
        if begin <= peak <= end
    ]


def recovered(names: Sequence[str], covering: list[tuple[str, str]]) -> list[str] | None:
    """Give peak lines without an index (before jaxlib 0.6.0) the index of the range they were printed from.

    Lines and ranges stand in the same order, so the k-th line of a name is its k-th range.
    """
    by_name = dict(covering)
    if len(by_name) == len(covering):  # nearly always
        indices = list(map(by_name.get, names))
        return None if None in indices else indices
    pending: dict[str, list[str]] = {}
    for name, index in reversed(covering):
        pending.setdefault(name, []).append(index)
    indices = [pending[name].pop() if pending.get(name) else None for name in names]
    return None if None in indices else indices
