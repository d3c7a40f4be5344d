"""Work on what is in the warehouse already, chosen by run or by date."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import duckdb
import polars as pl

from bufferhouse.engine.sql import registered, transaction
from bufferhouse.version import __version__
from bufferhouse.warehouse.batch_catalog import CATALOG, batch_catalog
from bufferhouse.warehouse.restore import chunks
from bufferhouse.warehouse.runs import run_id
from bufferhouse.warehouse.warehouse import Warehouse


def dumps_of(
    con: duckdb.DuckDBPyConnection,
    *,
    runs: Sequence[str] = (),
    since: datetime | None = None,
    until: datetime | None = None,
    outdated_only: bool = False,
) -> list[int]:
    """Return the dumps that some runs have seen, or runs that started from `since` on and before `until`.

    `outdated_only` leaves out what the parser of today has parsed. Moments without a time zone are UTC.

    Raises:
        UsageError: there is no run of one of the names.
    """
    rows = con.execute(
        "SELECT d.dump_id FROM raw.dumps AS d LEFT JOIN raw.loads AS l USING (load_id)"
        " WHERE (NOT $outdated_only OR l.parser_version IS DISTINCT FROM $version)"
        " AND d.dump_id IN (SELECT o.dump_id FROM raw.observations AS o JOIN raw.runs AS r USING (run_id)"
        "   WHERE (len($runs) = 0 OR list_contains($runs, r.run_id))"
        "   AND r.started_at >= COALESCE($since, r.started_at)"
        "   AND ($until IS NULL OR r.started_at < $until)) ORDER BY d.rowid",
        {
            "outdated_only": outdated_only,
            "version": __version__,
            "runs": [run_id(con, name) for name in runs],
            "since": _with_zone(since),
            "until": _with_zone(until),
        },
    ).fetchall()
    return [dump_id for (dump_id,) in rows]


def _with_zone(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def rebuild(warehouse: Warehouse, dump_ids: list[int], *, progress: Callable[[int, int], None] | None = None) -> int:
    """Compute the rows of the incremental models anew for some dumps, a transaction for each piece; return how many."""
    con = warehouse.con
    done = 0
    for frames in chunks(con, dump_ids):
        with batch_catalog(con, frames) as names, transaction(con):
            ids = frames["dumps"].select(pl.col("dump_id").cast(pl.Int64))
            with registered(con, "again", ids.to_arrow()):
                for name in names.incremental:
                    con.execute(f"DELETE FROM {name} WHERE dump_id IN (SELECT dump_id FROM again)")
                    con.execute(f"INSERT INTO {name} BY NAME SELECT * FROM {CATALOG}.{name}")
        done += len(frames["dumps"])
        if progress:
            progress(done, len(dump_ids))
    return done
