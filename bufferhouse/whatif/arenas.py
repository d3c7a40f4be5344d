"""The packings that a warehouse keeps: one for each allocation of temporaries, because SQL cannot compute them."""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import NamedTuple

import duckdb
import polars as pl

from bufferhouse.engine.sql import execute, streamed, transaction
from bufferhouse.warehouse.warehouse import Warehouse
from bufferhouse.whatif.alignment import alignment_of
from bufferhouse.whatif.packing import pack
from bufferhouse.whatif.slots import Slots, bodies
from schemas import PACKINGS

WORK = 40_000_000  # pairs of slots compared for one arena: some ten seconds for the largest
_BATCH = 500  # arenas that are committed together
_WAITING = """
SELECT DISTINCT s.dump_id, s.allocation_index
FROM intermediate.slots AS s
ANTI JOIN raw.packings AS p ON s.dump_id = p.dump_id AND s.allocation_index = p.allocation_index
WHERE s.kind = 'temp' AND s.size_bytes > 0
ORDER BY s.dump_id, s.allocation_index
"""
_SLOTS = """
SELECT s.dump_id, s.allocation_index, s.memory_space, s.has_strict_overlap, t.compile_target,
    s.offset_bytes, s.size_bytes, s.start_position, s.end_position
FROM intermediate.slots AS s
INNER JOIN chosen AS c ON s.dump_id = c.dump_id AND s.allocation_index = c.allocation_index
LEFT JOIN (SELECT dump_id, MIN(compile_target) AS compile_target FROM staging.observations GROUP BY dump_id) AS t
    ON s.dump_id = t.dump_id
WHERE s.kind = 'temp' AND s.size_bytes > 0 AND s.dump_id BETWEEN $first AND $last
ORDER BY s.dump_id, s.allocation_index, s.value_id
"""


class Packed(NamedTuple):
    """What was packed: the arenas of this call, and of all packed arenas how many were proved or were cut short.

    `savable_bytes` is the sum over arenas, also of different programs, of what a perfect packer would save,
    `most_savable_bytes` the largest of these savings, `smaller_count` the arenas with a saving. `open_count` are
    searches that ended without a proof. `unknown_count` are arenas of dumps without live ranges, which have no packing.
    """

    arena_count: int
    proved_count: int
    cut_count: int
    size_bytes: int
    savable_bytes: int
    open_count: int = 0
    smaller_count: int = 0
    most_savable_bytes: int = 0
    unknown_count: int = 0


def pack_arenas(warehouse: Warehouse, *, progress: Callable[[int, int], None] | None = None) -> Packed:
    """Pack every arena of a warehouse that has no packing yet, and commit some hundred packings at a time.

    After an interrupt the committed packings stay, and the next call continues from there.
    """
    con = warehouse.con
    waiting = con.execute(_WAITING).fetchall()
    for start in range(0, len(waiting), _BATCH):
        chosen = waiting[start : start + _BATCH]
        rows = [_packed(*arena) for arena in _arenas(con, chosen)]
        frame = pl.DataFrame(rows, schema=PACKINGS.types, orient="row")
        with warehouse.alone(), transaction(con), streamed(con, "packings_to_add", frame):
            # While this worker waited to be alone, another may have stored the same packing, or removed the dump.
            con.execute(
                f"INSERT INTO {warehouse.stored('packings')} BY NAME SELECT * FROM packings_to_add"
                " ANTI JOIN raw.packings USING (dump_id, allocation_index) SEMI JOIN raw.dumps USING (dump_id)"
            )
        if progress:
            progress(start + len(chosen), len(waiting))
    return _summary(con, len(waiting))


def _packed(key: tuple[int, int], slots: Slots, alignment: int) -> tuple:
    found = pack(slots, alignment, given=True, work=WORK)
    return (*key, alignment, found.low_bytes, found.high_bytes, found.packer, found.is_cut)


def _arenas(
    con: duckdb.DuckDBPyConnection, chosen: list[tuple[int, int]]
) -> Iterator[tuple[tuple[int, int], Slots, int]]:
    """Yield the key of each arena, its slots, and its alignment."""
    keys = {name: PACKINGS.types[name] for name in PACKINGS.key}
    with streamed(con, "chosen", pl.DataFrame(chosen, schema=keys, orient="row")):
        rows = execute(con, _SLOTS, first=chosen[0][0], last=chosen[-1][0]).fetchall()
    for key, found in groupby(rows, key=lambda row: row[:2]):
        _, _, spaces, stricts, targets, offsets, sizes, starts, ends = map(list, zip(*found, strict=True))
        numbers = list(range(len(sizes)))
        slots = Slots(numbers, numbers, offsets, sizes, starts, ends, [True] * len(sizes))
        slots.body = bodies(slots, [0] * len(sizes), frozenset([0]) if any(stricts) else frozenset())
        yield key, slots, alignment_of(targets[0], spaces[0], offsets)


def _summary(con: duckdb.DuckDBPyConnection, count: int) -> Packed:
    found = con.execute(
        "SELECT COUNT(*) FILTER (unproved_bytes = 0), COUNT(*) FILTER (is_cut_short),"
        " COALESCE(SUM(size_bytes) FILTER (packed_bytes IS NOT NULL), 0), COALESCE(SUM(savable_bytes), 0),"
        " COUNT(*) FILTER (unproved_bytes > 0 AND NOT is_cut_short),"
        " COUNT(*) FILTER (savable_bytes > 0), COALESCE(MAX(savable_bytes), 0),"
        " COUNT(*) FILTER (size_bytes > 0 AND occupied_peak_bytes IS NULL)"
        " FROM marts.fragmentation_v2"
    ).fetchone()
    return Packed(count, *map(int, found))
