"""The values of a dump with a live range, and the bytes that each owns at a moment."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

import duckdb

from bufferhouse.compare.groups import by
from bufferhouse.query.statements import ask


class Value(NamedTuple):
    """A row of `compare_values`: a value with a live range, its slot in parts, and what is known of its instruction."""

    value_id: int
    memory_space: int
    kind: str
    allocation_index: int
    offset_bytes: int
    size_bytes: int
    start_position: int
    end_position: int
    logical_bytes: int
    layout_padding_bytes: int
    slack_bytes: int
    instruction_name: str
    shape_index: str | None
    shape_text: str
    element_type: str | None
    opcode: str | None
    op_name: str | None
    source_file: str | None
    source_line: int | None
    parameter: str | None

    @property
    def source(self) -> str | None:
        """File and line of the user's program; the file alone where the dump names no line."""
        if not self.source_file:
            return None
        return self.source_file if self.source_line is None else f"{self.source_file}:{self.source_line}"


def read_values(con: duckdb.DuckDBPyConnection, dump_ids: Iterable[int]) -> dict[int, list[Value]]:
    """Return the values of each dump, in the order of their ids."""
    found: dict[int, list[Value]] = {dump_id: [] for dump_id in dump_ids}
    for row in ask(con, "compare_values", dump_ids=list(found)).rows:
        found[row[0]].append(Value._make(row[1:]))
    return found


def owned_bytes(alive: Sequence[Value]) -> dict[int, int]:
    """Return the bytes that each value owns, by value_id: they sum to the union of the slots.

    The value that starts first owns its whole slot, and of values that start together the larger one; each later value
    owns the bytes that are still free. A value therefore owns the same bytes in both compilations, whatever values
    share its slot later. (`peak_buffers_v1` gives a shared byte to the value that starts last: it needs the byte now.)
    """
    owned: dict[int, int] = {}
    for values in by(attrgetter("allocation_index"), alive).values():
        owned.update(_claim(sorted(values, key=lambda v: (v.start_position, -v.size_bytes, v.value_id))))
    return owned


def _claim(values: Iterable[Value]) -> Iterable[tuple[int, int]]:
    begins: list[int] = []  # what is taken already, as disjoint intervals in ascending order
    ends: list[int] = []
    for value in values:
        begin, end = value.offset_bytes, value.offset_bytes + value.size_bytes
        first = bisect_left(ends, begin)  # the first interval that ends at or behind our begin
        last, taken = first, 0
        low, high = begin, end
        while last < len(begins) and begins[last] <= end:
            taken += max(min(ends[last], end) - max(begins[last], begin), 0)
            low, high = min(low, begins[last]), max(high, ends[last])
            last += 1
        begins[first:last], ends[first:last] = [low], [high]
        yield value.value_id, value.size_bytes - taken
