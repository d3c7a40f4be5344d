"""The proof that nothing was lost: render every dump from its rows, compare hashes, and derive all rows again.

Equal hashes prove the columns a file is made of. The others (opcodes, byte counts, features of the dialect) are
proved by parsing the rendered bytes and comparing every cell of every table with what is stored; what observations
repeat of their dump and their path is derived again in `sightings`.
"""

import random
from collections.abc import Callable, Mapping

import duckdb
import polars as pl

from bufferhouse.dump.identity import Content
from bufferhouse.engine.sql import execute
from bufferhouse.tabulate.batch import COLUMNS, SHAPE_COLUMNS, Batch
from bufferhouse.tabulate.contents import parse_contents
from bufferhouse.tabulate.memory import collector_paused
from bufferhouse.warehouse.restore import ORDER, chunks, rendered
from bufferhouse.warehouse.run_names import find, without_dumps
from bufferhouse.warehouse.verify_observations import Fault, one_each, sighting_faults


def chosen_dumps(con: duckdb.DuckDBPyConnection, *, sample: int | None = None, run: str | None = None) -> list[int]:
    """Return the dumps to prove: all, those of a run, or some of them chosen at random.

    Raises:
        UsageError: there is no such run, or several, or it has no dumps: none proved is no proof.
    """
    run = None if run is None else find(con, run).run_name
    rows = execute(
        con,
        "SELECT dump_id FROM raw.dumps WHERE $run IS NULL OR dump_id IN (SELECT o.dump_id FROM staging.observations"
        " AS o JOIN raw.runs AS r USING (run_id) WHERE r.run_name = $run) ORDER BY rowid",
        run=run,
    ).fetchall()
    if not rows and run is not None:
        raise without_dumps(con, run)
    ids = [dump_id for (dump_id,) in rows]
    return ids if sample is None or sample >= len(ids) else random.sample(ids, sample)


def verify(
    con: duckdb.DuckDBPyConnection, dump_ids: list[int], *, progress: Callable[[int, int], None] | None = None
) -> list[Fault]:
    """Prove the rows of some dumps; return what does not hold, at most one fault a dump."""
    faults = _stored_twice(con, dump_ids)
    twice = {fault.dump_id for fault in faults}
    once = [dump_id for dump_id in dump_ids if dump_id not in twice]
    for frames in chunks(con, once, progress=progress):
        faults += faults_in(frames)
    faults += sighting_faults(con, once)
    return one_each(faults)


def _stored_twice(con: duckdb.DuckDBPyConnection, dump_ids: list[int]) -> list[Fault]:
    """Find contents that several writers have loaded: whoever adds up their rows counts them twice."""
    rows = con.execute(
        "SELECT dump_id, COUNT(*) FROM raw.dumps GROUP BY dump_id HAVING COUNT(*) > 1 ORDER BY dump_id"
    ).fetchall()
    chosen = set(dump_ids)
    return [
        Fault(dump_id, f"raw.dumps: expected one row, found {count}") for dump_id, count in rows if dump_id in chosen
    ]


@collector_paused()
def faults_in(frames: dict[str, pl.DataFrame]) -> list[Fault]:
    """Prove the dumps of frames that are sorted by key."""
    faults: dict[int, Fault] = {}
    work: list[tuple[Content, Mapping[str, bytes]]] = []
    for one in rendered(frames):
        if one.content is None:
            faults[one.dump_id] = Fault(one.dump_id, one.fault)
        else:
            work.append((one.content, one.files))
    again = parse_contents(work)
    for dump_id, refusal in again.refusals.items():
        faults[dump_id] = Fault(dump_id, f"this parser refuses it: {refusal}")
    _compare(frames, _with_stored_ids(again.tables, frames), faults)
    return list(faults.values())


def _with_stored_ids(batch: Batch, stored: dict[str, pl.DataFrame]) -> Batch:
    """Give derived rows the shape ids of the warehouse, -1 for a shape it does not have."""
    numbers = dict(zip(stored["shapes"]["shape_text"], stored["shapes"]["shape_id"], strict=True))
    ids = [numbers.get(text, -1) for text in batch.frames["shapes"]["shape_text"]]
    return batch.with_shape_ids(pl.Series(ids, dtype=pl.Int64))


def _compare(stored: dict[str, pl.DataFrame], derived: Batch, faults: dict[int, Fault]) -> None:
    """Add a fault for each dump with a cell that is not what its own bytes derive."""
    proved = [dump_id for dump_id in stored["dumps"]["dump_id"] if dump_id not in faults]
    for table in ORDER:
        # No text says which load brought it: that is proved with the observations.
        sides = (frames[table].drop("load_id", strict=False) for frames in (stored, derived.frames))
        left, right = (side.filter(pl.col("dump_id").is_in(proved)) for side in sides)
        if left.equals(right):
            continue
        for dump_id in proved:
            mine, own = left.filter(pl.col("dump_id") == dump_id), right.filter(pl.col("dump_id") == dump_id)
            if dump_id not in faults and not mine.equals(own):
                faults[dump_id] = Fault(dump_id, f"raw.{table}: {_difference(mine, own)}")
    _compare_shapes(stored, derived, faults, proved)


def _difference(stored: pl.DataFrame, derived: pl.DataFrame) -> str:
    if len(stored) != len(derived):
        return f"{len(stored)} rows, where its text has {len(derived)}"
    for column in stored.columns:
        for row, (mine, own) in enumerate(zip(stored[column].to_list(), derived[column].to_list(), strict=True)):
            if mine != own:
                return f"{column} in row {row} is {mine!r}, where its text says {own!r}"
    return "rows differ"


def _compare_shapes(
    stored: dict[str, pl.DataFrame], derived: Batch, faults: dict[int, Fault], proved: list[int]
) -> None:
    """Add a fault for each dump that uses a shape whose columns are not what its text says."""
    columns = list(COLUMNS["shapes"])
    rows = {row["shape_id"]: row for row in derived.frames["shapes"].to_dicts()}
    wrong = {
        row["shape_id"]
        for row in stored["shapes"].select(columns).to_dicts()
        if row["shape_id"] in rows and rows[row["shape_id"]] != row
    }
    if not wrong:
        return
    for table, names in SHAPE_COLUMNS.items():
        for name in names:
            frame = stored[table].filter(pl.col(name).is_in(list(wrong)))
            for dump_id in frame["dump_id"].unique():
                if dump_id in proved:
                    faults.setdefault(dump_id, Fault(dump_id, "raw.shapes: a shape differs from its text"))
