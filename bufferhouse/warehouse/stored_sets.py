"""Sets of rows that are told by what stands in them: what lies beside dumps, equal ones stored once.

A set is its columns, without the key. There are many of them, most of them small: to hash columns takes a fifth of the
time of rows.
"""

import hashlib
import json
from array import array
from collections.abc import Sequence
from typing import NamedTuple

from bufferhouse.dump.identity import key_of

Columns = Sequence[Sequence]
"""Columns of whole numbers as arrays of 64 bits, all others as lists."""


class StoredSet(NamedTuple):
    """A table of sets of rows, whose first column is the key: `used` is what of an observation names a set.

    `is_by_columns`: whether the key is that of the columns; it was that of the rows in releases before.
    """

    used: str
    is_by_columns: bool = False

    def key(self, rows: Sequence[tuple]) -> int:
        """Return the key of a set by its rows, in their order."""
        return key_of_columns(list(zip(*rows, strict=True))) if self.is_by_columns else key_of_rows(rows)


SETS = {
    "stack_frames": StoredSet("stack_frames_id"),
    "donations": StoredSet("donations_id"),
    "compile_flags": StoredSet("unnest(compile_flags_ids)"),
    "heap_events": StoredSet("heap_events_id", is_by_columns=True),
    "alias_sets": StoredSet("alias_sets_id", is_by_columns=True),
}


def key_of_rows(rows: Sequence[tuple]) -> int:
    """Return the key of a set of rows in their order: the first 63 bits of a SHA-256 of all that is stored of them."""
    return key_of(json.dumps(rows))


def key_of_columns(columns: Columns) -> int:
    """Return the key of a set by its columns: the first 63 bits of a SHA-256 of all that is stored of them.

    Numbers are hashed as 64 bits each, behind what says which are missing; texts behind their lengths.
    """
    hashed = hashlib.sha256(b"%d" % len(columns[0]) if columns else b"")
    for column in columns:
        if isinstance(column, array):
            hashed.update(column)
        elif isinstance(column[0], str):
            hashed.update(array("q", map(len, column)))
            hashed.update("".join(column).encode("utf-8", "surrogatepass"))
        else:
            hashed.update(bytes([one is None for one in column]) if None in column else b"")
            hashed.update(array("q", [one or 0 for one in column]))
    return int.from_bytes(hashed.digest()[:8], "big") >> 1
