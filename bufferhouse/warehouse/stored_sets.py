"""Sets of rows that are told by what stands in them: what lies beside dumps, equal ones stored once."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from bufferhouse.dump.identity import key_of
from schemas import TABLES


class StoredSet(NamedTuple):
    """A table of sets of rows: its columns, the key first, and what of an observation names a set."""

    columns: Mapping[str, pl.DataType]
    used: str


_USED = {
    "stack_frames": "stack_frames_id",
    "donations": "donations_id",
    "compile_flags": "unnest(compile_flags_ids)",
    "heap_events": "heap_events_id",
    "alias_sets": "alias_sets_id",
}
SETS = {
    table: StoredSet({name: column.dtype for name, column in TABLES[table].columns.items()}, used)
    for table, used in _USED.items()
}


def key_of_rows(rows: Sequence[tuple]) -> int:
    """Return the key of a set of rows in their order: the first 63 bits of a SHA-256 of all that is stored of them."""
    return key_of(json.dumps(rows))
