"""Official numbers as the compiler's own files tell them: what marts.official_numbers_v1 is compared with.

Of a dump the printed total and the lines of its printed peak, of a memory-usage report its totals, each taken from the
text by a pattern; of a proto what XProf's memory viewer computes, written again after its source
(xprof/convert/hlo_proto_to_memory_visualization_utils.cc).
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from bufferhouse.proto import hlo_pb2

REPORT = "-memory-usage-report.txt"
ASSIGNMENT = "-buffer-assignment.txt"
_ALLOC, _FREE = 0, 1
NUMBERS = """
    SELECT run_name, relative_path, said_by, number_name, memory_space, computed_bytes, computed_position,
        printed_bytes, printed_position, verdict, rule, is_compared
    FROM marts.official_numbers_v1 ORDER BY ALL
"""


class Number(NamedTuple):
    """A row of the mart, without what says whose number it is."""

    memory_space: int | None
    computed_bytes: int | None
    computed_position: int | None
    printed_bytes: int | None
    printed_position: int | None
    verdict: str
    rule: str
    is_compared: bool


def numbers(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], dict[tuple[str, str], list[Number]]]:
    """The rows of the mart by run and path, then by who says the number and its name."""
    found: dict[tuple[str, str], dict[tuple[str, str], list[Number]]] = {}
    for run, path, said_by, name, *row in con.execute(NUMBERS).fetchall():
        found.setdefault((run, path), {}).setdefault((said_by, name), []).append(Number(*row))
    return found


def printed_total(text: str) -> int | None:
    """What a dump prints as its total."""
    found = re.search(r"^Total bytes used: (\d+)", text, re.M)
    return int(found[1]) if found else None


def printed_peak(text: str) -> tuple[int, int] | None:
    """Where a dump prints its peak, and the sum of the bytes in its lines."""
    found = re.search(r"^  Live ranges at (\d+) \(peak\):\n((?:    \S.*: \d+ bytes.*\n)*)", text, re.M)
    if found is None:
        return None
    return int(found[1]), sum(map(int, re.findall(r": (\d+) bytes(?: \(cumulative.*\))?$", found[2], re.M)))


def report_totals(text: str) -> tuple[int | None, dict[int, int]]:
    """The total of a report of the first form, and the totals of memory spaces of one of the second."""
    total = re.match(r"Total bytes used: (\d+) \(", text)
    spaces = re.findall(r"^Memory Space: .* \(color=(\d+)\)\nTotal bytes: (\d+) \(", text, re.M)
    return int(total[1]) if total else None, {int(color): int(size) for color, size in spaces}


class XProf(NamedTuple):
    """What XProf shows of a memory space. `peaks` are all that it may show, None where it refuses the program."""

    peaks: set[int | None]
    total: int
    parameters: int
    outputs: int


def xprof(proto: bytes, space: int) -> XProf:
    """Compute what XProf's memory viewer shows of a memory space of a proto."""
    hlo = hlo_pb2.Hlo.FromString(proto)
    assignment = hlo_pb2.BufferAssignment.FromString(hlo.buffer_assignment)
    sizes = {buffer.id: buffer.size for buffer in assignment.logical_buffers}
    colors = {buffer.id: buffer.color for buffer in assignment.logical_buffers}
    home = {one.logical_buffer_id: held.index for held in assignment.buffer_allocations for one in held.assigned}
    traces = [list(trace.events) for trace in assignment.heap_simulator_traces]
    trace_of = {home[events[0].buffer_id]: number for number, events in enumerate(traces) if events}
    own = [held for held in assignment.buffer_allocations if held.color == space]
    kept = [held for held in own if _is_indefinite(held)]
    indefinite = sum(held.size for held in kept if any(sizes[one.logical_buffer_id] for one in held.assigned))
    chosen = {trace_of[held.index] for held in own if not _is_indefinite(held) and held.index in trace_of}
    if not chosen:
        counts = [sum(colors[event.buffer_id] == space for event in events) for events in traces]
        chosen = {counts.index(max(counts))} if any(counts) else set()
    replayed = {_replayed(traces[number], sizes, home) for number in chosen} or {0}
    return XProf(
        {None if peak is None else indefinite + peak for peak in replayed},
        sum(held.size for held in own),
        sum(held.size for held in own if held.is_entry_computation_parameter),
        sum(held.size for held in own if held.maybe_live_out),
    )


def _is_indefinite(held: Any) -> bool:
    return held.is_thread_local or held.is_entry_computation_parameter or held.is_constant or held.maybe_live_out


def _replayed(events: Iterable[Any], sizes: dict[int, int], home: dict[int, int]) -> int | None:
    """The highest point of one trace, by its counts of references; None where it is of several allocations."""
    counts: Counter[int] = Counter()
    canonical: dict[int, int] = {}

    def owner(buffer: int) -> int:
        while buffer in canonical:
            buffer = canonical[buffer]
        return buffer

    alive = peak = 0
    seen = set()
    for event in events:
        seen.add(home[event.buffer_id])
        if event.kind == _FREE:
            counts[owner(event.buffer_id)] -= 1
            alive -= 0 if counts[owner(event.buffer_id)] else sizes[owner(event.buffer_id)]
            continue
        if event.kind != _ALLOC:
            canonical[event.buffer_id] = event.share_with_canonical_id
        counts[owner(event.buffer_id)] += 1
        # An ALLOC adds its buffer whenever it comes, a SHARE_WITH only where nobody holds the bytes any more.
        alive += sizes[event.buffer_id] if event.kind == _ALLOC else 0
        if event.kind != _ALLOC and counts[owner(event.buffer_id)] == 1:
            alive += sizes[event.share_with_canonical_id]
        peak = max(peak, alive)
    return peak if len(seen) == 1 else None


class NumberCount:
    """How many numbers of the mart are what files say; `problems` names those that are not."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []

    def tell(self, what: str, expected: object, actual: object, where: object) -> None:
        """Count a number that is as expected, or keep it as a problem."""
        if expected == actual:
            self.counts[what] += 1
        else:
            self.problems.append(f"{where}: {what}: expected {expected}, found {actual}")

    def add_dump(self, where: object, own: dict[tuple[str, str], list[Number]], texts: str) -> None:
        """Compare what a dump prints: `texts` are its files, one behind the other."""
        [total], [peak] = own["the dump", "Total bytes used"], own["the dump", "(peak)"]
        said = printed_total(texts)
        self.tell(
            "printed total", (said, said, "agrees"), (total.printed_bytes, total.computed_bytes, total.verdict), where
        )
        if (moment := printed_peak(texts)) is not None and moment[1]:
            found = (peak.printed_position, peak.printed_bytes), (peak.computed_position, peak.computed_bytes)
            self.tell("printed peak", (moment, moment, "agrees"), (*found, peak.verdict), where)
        else:
            self.tell("no printed peak", True, peak.verdict in ("not reported", "not in the dump"), where)

    def add_report(self, where: object, own: dict[tuple[str, str], list[Number]], text: str | None) -> None:
        """Compare what the memory-usage report beside a dump says; None where there is none."""
        rows = [one for (said_by, _), some in own.items() if said_by == "memory-usage report" for one in some]
        total, spaces = report_totals(text) if text is not None else (None, {})
        expected = {None: total} if total is not None else spaces
        if not expected:
            self.tell("no report", [(None, "not reported")], [(one.computed_bytes, one.verdict) for one in rows], where)
            return
        found = {one.memory_space: one.computed_bytes for one in rows}
        form = "report, first form" if total is not None else "report, second form"
        self.tell(form, (expected, {True}), (found, {one.is_compared for one in rows}), where)

    def add_analysis(self, where: object, own: dict[tuple[str, str], list[Number]], said: dict[str, int]) -> None:
        """Compare what `memory_analysis()` said. What the mart does not know it must not give."""
        for name in ("argument_size_in_bytes", "output_size_in_bytes", "alias_size_in_bytes", "temp_size_in_bytes",
                     "peak_memory_in_bytes", "generated_code_size_in_bytes"):  # fmt: skip
            [one] = own["memory_analysis()", name]
            if one.verdict in ("not stored", "guessed"):
                self.tell(
                    name if one.verdict == "not stored" else f"{name}, guessed",
                    (said.get(name), True),
                    (one.computed_bytes, one.is_compared),
                    where,
                )
            elif one.verdict == "not reported":
                self.tell(f"{name} is not reported", (None, None), (said.get(name), one.computed_bytes), where)
            else:
                self.tell(f"{name} is {one.verdict}", None, one.computed_bytes, where)

    def add_xprof(self, where: object, own: dict[tuple[str, str], list[Number]], proto: bytes) -> None:
        """Compare what XProf computes of the proto beside a dump, memory space by memory space."""
        for peak in own["XProf", "peak_heap_mib"]:
            shown = xprof(proto, peak.memory_space)
            expected = (
                (None, "unknown") if len(shown.peaks) > 1
                else (None, "not reported") if shown.peaks == {None}
                else (*shown.peaks, "not stored")
            )  # fmt: skip
            self.tell(f"XProf's peak, {expected[1]}", expected, (peak.computed_bytes, peak.verdict), where)
            for name, size in (("total_buffer_allocation_mib", shown.total), ("maybe_live_out_mib", shown.outputs),
                               ("entry_computation_parameters_mib", shown.parameters)):  # fmt: skip
                found = {one.memory_space: one.computed_bytes for one in own["XProf", name]}
                self.tell(f"XProf's {name}", size, found[peak.memory_space], where)


def texts_of(assignment: Path) -> str:
    """The text of a dump, its files one behind the other."""
    stem = str(assignment).removesuffix(ASSIGNMENT)
    files = [Path(stem + suffix) for suffix in (ASSIGNMENT, "-buffer-assignment-values.txt", "-live-range.txt")]
    return "\n".join(path.read_text(errors="replace") for path in files if path.exists())
