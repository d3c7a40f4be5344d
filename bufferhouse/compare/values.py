"""The values of a dump that take part in its memory timeline, as blame sees them."""

from collections.abc import Iterable
from typing import NamedTuple

import duckdb

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


def read_values(con: duckdb.DuckDBPyConnection, dump_ids: Iterable[int]) -> dict[int, list[Value]]:
    """Return the values of each dump, in the order of their ids."""
    found: dict[int, list[Value]] = {dump_id: [] for dump_id in dump_ids}
    for row in ask(con, "compare_values", dump_ids=list(found)).rows:
        found[row[0]].append(Value._make(row[1:]))
    return found
