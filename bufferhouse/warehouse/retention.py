"""Forget old runs, and what nothing that is left mentions."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl

from bufferhouse.engine.sql import registered, transaction
from bufferhouse.errors import UsageError
from bufferhouse.tabulate.batch import SHAPE_COLUMNS
from bufferhouse.warehouse.restore import ORDER
from bufferhouse.warehouse.warehouse import Warehouse


@dataclass(slots=True)
class Pruned:
    """What a prune removed: run names, observations, and contents that nobody sees any more."""

    runs: list[str]
    observation_count: int
    dump_count: int


def runs_to_prune(
    con: duckdb.DuckDBPyConnection, *, keep_runs: int | None = None, older_than_days: float | None = None
) -> list[tuple[int, str]]:
    """Return id and name of the runs that are beyond the newest `keep_runs`, or older than some days.

    Raises:
        UsageError: neither limit is given, or one is negative.
    """
    if (keep_runs is None) == (older_than_days is None):
        raise UsageError("expected one of --keep-runs N and --older-than D")
    if (keep_runs or 0) < 0 or (older_than_days or 0) < 0:
        raise UsageError("expected a limit of 0 or more")
    rows = con.execute(
        "SELECT run_id, run_name, started_at FROM staging.runs ORDER BY started_at DESC, natural_name DESC, run_id DESC"
    ).fetchall()
    if keep_runs is not None:
        rows = rows[keep_runs:]
    else:
        limit = datetime.now(UTC) - timedelta(days=older_than_days or 0)
        rows = [row for row in rows if row[2] < limit]
    return [(run_id, name) for run_id, name, _ in rows]


def remove_runs(warehouse: Warehouse, runs: list[tuple[int, str]]) -> Pruned:
    """Remove runs with their observations and rejects, then contents that no run sees; all in one transaction."""
    con = warehouse.con
    ids = [run_id for run_id, _ in runs]
    with warehouse.alone(), transaction(con):
        with registered(con, "removed", pl.DataFrame({"run_id": ids}, schema={"run_id": pl.Int64}).to_arrow()):
            removed = {
                table: con.execute(
                    f"DELETE FROM {warehouse.stored(table)} WHERE run_id IN (SELECT run_id FROM removed)"
                ).fetchone()[0]
                for table in ("observations", "rejects", "runs")
            }
        con.execute(
            "CREATE TEMP TABLE unseen AS SELECT dump_id FROM raw.dumps ANTI JOIN raw.observations USING (dump_id)"
        )
        dumps = con.execute("SELECT COUNT(*) FROM unseen").fetchone()[0]
        for table in [*(f"raw.{name}" for name in ORDER), *warehouse.model_tables()]:
            con.execute(f"DELETE FROM {table} WHERE dump_id IN (SELECT dump_id FROM unseen)")
        con.execute("DROP TABLE unseen")
        con.execute(
            f"DELETE FROM {warehouse.stored('stack_frames')} WHERE stack_frames_id NOT IN"
            " (SELECT stack_frames_id FROM raw.observations WHERE stack_frames_id IS NOT NULL)"
        )
        remove_unused_shapes(warehouse)
    return Pruned([name for _, name in runs], removed["observations"], dumps)


def remove_unused_shapes(warehouse: Warehouse) -> None:
    """Remove the shapes that no dump mentions."""
    used = " UNION ".join(
        f"SELECT {column} FROM raw.{table} WHERE {column} IS NOT NULL"
        for table, columns in SHAPE_COLUMNS.items()
        for column in columns
        if table != "shapes"
    )
    warehouse.con.execute(f"DELETE FROM {warehouse.stored('shapes')} WHERE shape_id NOT IN ({used})")
