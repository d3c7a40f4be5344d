"""Remove old runs, and the rows that only they need."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import duckdb
import polars as pl

from bufferhouse.engine.sql import execute, registered, streamed, transaction
from bufferhouse.errors import UsageError
from bufferhouse.tabulate.batch import SHAPE_COLUMNS
from bufferhouse.warehouse.restore import ORDER
from bufferhouse.warehouse.runs import PINNED
from bufferhouse.warehouse.stored_sets import SETS
from bufferhouse.warehouse.warehouse import Warehouse

MESSAGES = ("oom_logs", "oom_messages", "oom_figures", "oom_allocations", "oom_ranks")  # go with the run of their log
_NO = ("", "no", "false", "0")  # values of a label that take it back


@dataclass(slots=True)
class Pruned:
    """What a prune removed: run names, observations, contents that nobody sees any more, and what nobody has elsewhere:
    rejects with the bytes they keep, and messages of logs.
    """

    runs: list[str]
    observation_count: int
    dump_count: int
    reject_count: int = 0
    message_count: int = 0


def check_limits(keep_runs: int | None, older_than_days: float | None) -> None:
    """Raise a UsageError where not one of the limits is given, or it is negative."""
    if (keep_runs is None) == (older_than_days is None):
        raise UsageError("expected one of --keep-runs N and --older-than D")
    for option, given in (("--keep-runs", keep_runs), ("--older-than", older_than_days)):
        if given is not None and given < 0:
            raise UsageError(f"{option}: expected 0 or more, found {given:g}")


def days_ago(days: float) -> datetime:
    """Return the moment a number of days ago.

    Raises:
        UsageError: it was before the year 1, or `days` is no number.
    """
    try:
        return datetime.now(UTC) - timedelta(days=days)
    except (OverflowError, ValueError):
        raise UsageError(f"--older-than: expected a number of days since the year 1, found {days:g}") from None


def runs_to_prune(
    con: duckdb.DuckDBPyConnection, *, keep_runs: int | None, older_than_days: float | None = None
) -> list[tuple[int, str]]:
    """Return id and name of the runs that are beyond the newest `keep_runs`, or older than some days.

    The newest runs are counted for each platform, track and device, separately for runs without a loaded dump. Runs
    that are `kept` always stay.

    Raises:
        UsageError: neither limit is given, or one is negative or no number of days since the year 1.
    """
    check_limits(keep_runs, older_than_days)
    rows = con.execute(_BY_AGE).fetchall()
    if keep_runs is not None:
        rows = [row for row in rows if row[3] > keep_runs]
    else:
        limit = days_ago(older_than_days)
        rows = [row for row in rows if row[2] < limit]
    stay = kept(con)
    return [(run_id, name) for run_id, name, *_ in rows if run_id not in stay]


# Runs without a loaded dump are counted apart: nights whose dumps are all refused push no good run out.
_BY_AGE = """
    SELECT run_id, run_name, started_at,
        ROW_NUMBER() OVER (PARTITION BY platform, track, device_kind, dump_count > 0 ORDER BY run_order DESC)
    FROM marts.runs_v2 ORDER BY run_order DESC
"""


def kept(con: duckdb.DuckDBPyConnection) -> dict[int, tuple[str, str]]:
    """Return name and label of the runs that stay: those that are pinned, and those with the label `baseline`."""
    found = {}
    for number, name, text in con.execute("SELECT run_id, run_name, labels FROM raw.runs ORDER BY run_id").fetchall():
        labels = json.loads(text)
        said = [label for label in (PINNED, "baseline") if str(labels.get(label) or "no").lower() not in _NO]
        if said:
            found[number] = name, said[0]
    return found


def planned(con: duckdb.DuckDBPyConnection, runs: list[tuple[int, str]]) -> Pruned:
    """Return what `remove_runs` would remove."""
    ids = pl.DataFrame({"run_id": [run_id for run_id, _ in runs]}, schema={"run_id": pl.Int64})
    with streamed(con, "leaving", ids):
        found = con.execute(
            "WITH l AS MATERIALIZED (FROM leaving),"
            " seen AS (SELECT o.dump_id, l.run_id IS NOT NULL AS is_leaving FROM raw.observations AS o"
            " LEFT JOIN l ON o.run_id = l.run_id),"
            " dumps AS (SELECT dump_id FROM seen GROUP BY dump_id HAVING BOOL_AND(is_leaving))"
            " SELECT (SELECT COUNT(*) FROM seen WHERE is_leaving), (SELECT COUNT(*) FROM dumps),"
            " (SELECT COUNT(*) FROM raw.rejects SEMI JOIN l USING (run_id)),"
            " (SELECT COUNT(*) FROM raw.oom_messages SEMI JOIN l USING (run_id))"
        ).fetchone()
    return Pruned([name for _, name in runs], *found)


def prune(
    warehouse: Warehouse,
    *,
    keep_runs: int | None = None,
    older_than_days: float | None = None,
    only: Collection[tuple[int, str]] | None = None,
) -> Pruned:
    """Remove the runs that `runs_to_prune` returns, of those of `only` if given.

    They are determined while nobody else writes, so that a run stays if it was pinned while this waited for a writer.

    Raises:
        UsageError: as `runs_to_prune`.
        WarehouseBusy: others write to the same lake.
    """

    def chosen() -> list[tuple[int, str]]:
        found = runs_to_prune(warehouse.con, keep_runs=keep_runs, older_than_days=older_than_days)
        return [run for run in found if only is None or run in only]

    if not chosen():
        return Pruned([], 0, 0)  # nobody is waited for
    with warehouse.alone():
        return _remove_runs(warehouse, chosen(), are_pruned=True)


def remove_runs(warehouse: Warehouse, runs: list[tuple[int, str]]) -> Pruned:
    """Remove runs with what is theirs, then contents that no run sees; all in one transaction.

    Raises:
        WarehouseBusy: others write to the same lake.
    """
    with warehouse.alone():
        return _remove_runs(warehouse, runs)


def _remove_runs(warehouse: Warehouse, runs: list[tuple[int, str]], *, are_pruned: bool = False) -> Pruned:
    con = warehouse.con
    ids = [run_id for run_id, _ in runs]
    with transaction(con):
        if are_pruned:
            execute(
                con,
                f"INSERT INTO {warehouse.stored('pruned_runs')} SELECT run_name, root, CAST($now AS TIMESTAMPTZ)"
                " FROM raw.runs WHERE run_id IN (SELECT unnest(CAST($ids AS BIGINT[])))",
                now=datetime.now(UTC),
                ids=ids,
            )
        with registered(con, "removed", pl.DataFrame({"run_id": ids}, schema={"run_id": pl.Int64})):
            removed = {
                table: con.execute(
                    f"DELETE FROM {warehouse.stored(table)} WHERE run_id IN (SELECT run_id FROM removed)"
                ).fetchone()[0]
                for table in ("observations", "rejects", *MESSAGES, "runs")
            }
        con.execute(
            "CREATE TEMP TABLE unseen AS SELECT dump_id FROM raw.dumps ANTI JOIN raw.observations USING (dump_id)"
        )
        dumps = con.execute("SELECT COUNT(*) FROM unseen").fetchone()[0]
        for table in [*(f"raw.{name}" for name in (*ORDER, "packings")), *warehouse.model_tables()]:
            con.execute(f"DELETE FROM {table} WHERE dump_id IN (SELECT dump_id FROM unseen)")
        con.execute("DROP TABLE unseen")
        for table, told in SETS.items():
            con.execute(
                f"DELETE FROM {warehouse.stored(table)} WHERE {table}_id NOT IN (SELECT used FROM"
                f" (SELECT {told.used} AS used FROM raw.observations) AS o WHERE used IS NOT NULL)"
            )
        remove_unused_shapes(warehouse)
    names = [name for _, name in runs]
    return Pruned(names, removed["observations"], dumps, removed["rejects"], removed["oom_messages"])


def pruned_runs(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, datetime]]:
    """Return when runs were last pruned, by their roots and then by the names that they had."""
    found: dict[str, dict[str, datetime]] = {}
    for root, name, moment in con.execute(
        "SELECT root, run_name, MAX(pruned_at) FROM raw.pruned_runs GROUP BY root, run_name"
    ).fetchall():
        found.setdefault(root, {})[name] = moment
    return found


def remove_unused_shapes(warehouse: Warehouse) -> None:
    """Remove the shapes that no dump mentions."""
    used = " UNION ".join(
        f"SELECT {column} FROM raw.{table} WHERE {column} IS NOT NULL"
        for table, columns in SHAPE_COLUMNS.items()
        for column in columns
    )
    warehouse.con.execute(f"DELETE FROM {warehouse.stored('shapes')} WHERE shape_id NOT IN ({used})")
