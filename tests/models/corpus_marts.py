"""What the marts say of the dumps of an archive, against brute force and against the compiler's heap simulator."""

from collections import Counter

import duckdb

from tests import oracle
from tests.models.brute_force import figures, occupied_peak, values_in
from tests.models.heap_trace import trace_of
from tests.models.readings import by_dump

TIMELINE = """
    SELECT dump_id, memory_space, occupied_bytes, listed_bytes, buffer_count FROM marts.memory_timeline_v1
    ORDER BY dump_id, memory_space, schedule_position
"""
PEAKS = """
    SELECT dump_id, memory_space, occupied_peak_bytes, occupied_peak_position, occupied_peak_position_count,
        listed_peak_bytes, listed_peak_position, dump_listed_peak_bytes, dump_listed_peak_position
    FROM marts.peak_memory_v1
"""
BALANCES = """
    SELECT dump_id, allocation_index, size_bytes, occupied_peak_bytes, element_bytes, layout_padding_bytes,
        slack_bytes, tuple_table_bytes, other_moments_bytes, without_live_range_bytes, stride_bytes, unused_bytes
    FROM marts.allocation_balance_v1
"""
LOGICAL = "SELECT dump_id, instruction_name, COALESCE(shape_index, '{}'), logical_bytes FROM staging.hlo_values"
STRICT = "SELECT dump_id, allocation_index FROM staging.allocations WHERE has_strict_overlap"


class MartCount:
    """How many figures of the marts are those of brute force; `problems` names the dumps where one is not."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.timelines, self.peaks, self.balances = by_dump(con, TIMELINE), by_dump(con, PEAKS), by_dump(con, BALANCES)
        self.logical, self.strict = by_dump(con, LOGICAL), by_dump(con, STRICT)
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []

    def add(self, name: str, dump_id: int, dump: dict, truth: dict | None) -> None:
        """Compare what the marts say of a dump with what follows from what the oracle read in it."""
        spaces, own_peaks = figures(dump)
        faults = [
            *self._timelines(dump_id, dump, spaces),
            *self._balances(dump_id, dump, own_peaks),
            *self._peak_lines(dump_id, dump),
            *(self._traces(dump, truth, own_peaks) if truth else []),
        ]
        self.counts["dumps"] += 1
        self.counts["strict"] += len(self.strict.get(dump_id, []))
        self.problems += [f"{name}: {fault}" for fault in faults]

    def _timelines(self, dump_id: int, dump: dict, spaces: dict[int, list[tuple]]) -> list[str]:
        found: dict[int, list[tuple]] = {}
        for space, *row in self.timelines.get(dump_id, []):
            found.setdefault(space, []).append(tuple(row))
        self.counts["positions"] += sum(map(len, spaces.values()))
        faults = []
        if found != {space: rows for space, rows in spaces.items() if rows}:
            faults.append("a timeline is not that of brute force")
        if dump["live_ranges"] is None:
            is_known = any(row[1:] != (None,) * 7 for row in self.peaks[dump_id])
            return [*faults, *(["peaks without live ranges"] if is_known else [])]
        whole = oracle.peak([sum(rows[1] for rows in at) for at in zip(*spaces.values(), strict=True)])
        expected = []
        for space, rows in spaces.items():
            heights, listed = [row[0] for row in rows], [row[1] for row in rows]
            peak, position = oracle.peak(heights)
            tied = heights.count(peak) if peak else None
            expected.append((space, peak, position, tied, *oracle.peak(listed), *whole))
        self.counts["peaks"] += len(expected)
        if sorted(expected) != sorted(self.peaks[dump_id]):
            faults.append("a peak is not that of brute force")
        return faults

    def _balances(self, dump_id: int, dump: dict, own_peaks: dict[int, int]) -> list[str]:
        faults = []
        for index, size, own_peak, *parts in self.balances[dump_id]:
            if dump["live_ranges"] is None:
                is_closed = own_peak is None and parts == [None] * 8
            else:
                is_closed = sum(parts) == size and min(parts) >= 0 and own_peak == own_peaks[index]
                self.counts["balances"] += 1
            faults += [] if is_closed else [f"the balance of allocation {index} is open"]
        if len(self.balances[dump_id]) != len(dump["allocations"]):
            faults.append("an allocation has no balance")
        return faults

    def _peak_lines(self, dump_id: int, dump: dict) -> list[str]:
        """From D8b on a line shows the logical bytes of its value; before, it has no index."""
        lines = [line for line in dump["peak_lines"] or [] if line[1] is not None]
        logical = {(name, index): size for name, index, size in self.logical.get(dump_id, [])}
        faults = []
        for name, index, listed, _ in lines:
            key = name, "{" + ",".join(map(str, index)) + "}"
            # A constant may have a range and no memory: then no value is listed for it.
            if key in logical:
                self.counts["lines"] += 1
                faults += [] if logical[key] == listed else [f"{name}{key[1]} is listed with {listed} bytes"]
            else:
                self.counts["lines without a value"] += 1
        return faults

    def _traces(self, dump: dict, truth: dict, own_peaks: dict[int, int]) -> list[str]:
        """The occupied peak of a temporary allocation is never below that of the trace; count why it is above."""
        faults = []
        if dump["live_ranges"] is None:
            return faults
        for allocation in dump["allocations"]:
            traced = trace_of(truth, truth["allocations"][allocation["index"]])
            if oracle.kind_of(allocation) != "temp" or traced is None:
                continue
            peak, buffers = traced
            mine = own_peaks[allocation["index"]]
            values = [value for value in values_in(dump, allocation) if value["id"] in buffers]
            with_event = occupied_peak(values)
            self.counts["traced"] += 1
            if mine < peak:
                faults.append(f"allocation {allocation['index']} is occupied by {mine}, its trace by {peak}")
            elif mine == peak:
                self.counts["equal to trace"] += 1
            elif with_event == peak:
                self.counts["without event"] += 1
            else:
                self.counts["sharing an instant"] += 1
        return faults

    def line(self) -> str:
        """Say what was compared."""
        n = self.counts
        return (
            f"{'':45} {n['dumps']:6} dumps by brute force: {n['positions']} positions, {n['peaks']} peaks "
            f"({n['strict']} allocations with strict overlap), {n['balances']} balances closed, "
            f"{n['lines']} peak lines; {n['traced']} heap traces: {n['equal to trace']} equal, "
            f"{n['without event']} above for buffers without event, {n['sharing an instant']} for a shared instant"
        )
