"""Forget old runs, give space back, and say what is in the warehouse."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl

from bufferhouse.engine.connection import is_lake
from bufferhouse.engine.journal import checkpoint, unguard
from bufferhouse.engine.sql import quoted, registered, transaction
from bufferhouse.errors import UsageError
from bufferhouse.warehouse.copying import flush
from bufferhouse.warehouse.lake.address import LakeAddress
from bufferhouse.warehouse.restore import ORDER
from bufferhouse.warehouse.rows import model_tables, remove_unused_shapes, stored
from bufferhouse.warehouse.warehouse import BLOCK_SIZE, STORAGE_VERSION, Warehouse


@dataclass(frozen=True, slots=True)
class Compacted:
    """Bytes before and after, how many contents were stored twice, and why some of these still are."""

    before: int
    after: int
    mended_count: int = 0
    not_mended: Sequence[str] = ()


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
                    f"DELETE FROM {stored(con, table)} WHERE run_id IN (SELECT run_id FROM removed)"
                ).fetchone()[0]
                for table in ("observations", "rejects", "runs")
            }
        con.execute(
            "CREATE TEMP TABLE unseen AS SELECT dump_id FROM raw.dumps ANTI JOIN raw.observations USING (dump_id)"
        )
        dumps = con.execute("SELECT COUNT(*) FROM unseen").fetchone()[0]
        for table in [*(f"raw.{name}" for name in ORDER), *model_tables(con)]:
            con.execute(f"DELETE FROM {table} WHERE dump_id IN (SELECT dump_id FROM unseen)")
        con.execute("DROP TABLE unseen")
        con.execute(
            f"DELETE FROM {stored(con, 'stack_frames')} WHERE stack_frames_id NOT IN"
            " (SELECT stack_frames_id FROM raw.observations WHERE stack_frames_id IS NOT NULL)"
        )
        remove_unused_shapes(con)
    return Pruned([name for _, name in runs], removed["observations"], dumps)


# In these tables rows of a dump that have much in common stand side by side: DuckDB packs what neighbours differ in.
_NEIGHBOURS = {
    "raw.hlo_values": "t.size_bytes, t.offset_bytes, t.value_id",
    "raw.live_ranges": "t.start_position, t.end_position, t.ordinal",
    "intermediate.space_changes": "t.memory_space, t.occupied_change_bytes, t.position_in_schedule",
    "intermediate.peak_owners": "t.size_bytes, t.owned_bytes, t.value_id",
}


def compact(warehouse: Warehouse, *, keep_seconds: float | None = None) -> Compacted:
    """Write the warehouse anew without free blocks.

    The new file takes the place of the old one in one step; until then nothing of the old one is touched. A lake gets
    few large files for many small ones, and snapshots older than `keep_seconds`, else a day, are forgotten. Of contents
    that it has twice one copy is left.
    """
    path = warehouse.path
    if isinstance(path, LakeAddress):
        from bufferhouse.warehouse.lake import compact as keeping
        from bufferhouse.warehouse.reparse import load_once

        mended = load_once(warehouse)
        seconds = keeping.KEPT_SECONDS if keep_seconds is None else keep_seconds
        done = keeping.compact(warehouse.con, keep_seconds=seconds)
        return Compacted(done.before.file_bytes, done.after.file_bytes, mended.count, mended.refused)
    if path is None:
        raise UsageError("an in-memory warehouse cannot be compacted")
    checkpoint(warehouse.con)
    before = path.stat().st_size
    temporary = path.with_name(f".{path.name}.{os.getpid()}.compact")
    try:
        main = warehouse.con.execute("SELECT current_database()").fetchone()[0]
        warehouse.con.execute(f"ATTACH {quoted(str(temporary))} AS compacted"
                              f" (STORAGE_VERSION '{STORAGE_VERSION}', BLOCK_SIZE {BLOCK_SIZE})")  # fmt: skip
        unguard(warehouse.con)  # the new file is nobody's yet, and nothing is written to the old one
        with transaction(warehouse.con, keep_journal=False):
            warehouse.con.execute(f'COPY FROM DATABASE "{main}" TO compacted (SCHEMA)')
            _copy_rows(warehouse.con, main)
        warehouse.con.execute("DETACH compacted")
        flush(temporary)
        warehouse.replace_file(temporary)
    finally:
        temporary.unlink(missing_ok=True)
        Path(f"{temporary}.wal").unlink(missing_ok=True)
    return Compacted(before, path.stat().st_size)


def _copy_rows(con: duckdb.DuckDBPyConnection, main: str) -> None:
    tables = con.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = $main ORDER BY ALL", {"main": main}
    ).fetchall()
    for schema, table in tables:
        name = f'"{schema}"."{table}"'
        order = _NEIGHBOURS.get(f"{schema}.{table}")
        # Dumps that were loaded one after the other are alike, too.
        sorting = f" LEFT JOIN raw.dumps AS d ON t.dump_id = d.dump_id ORDER BY d.rowid, {order}" if order else ""
        con.execute(f'INSERT INTO compacted.{name} SELECT t.* FROM "{main}".{name} AS t{sorting}')


def size(warehouse: Warehouse) -> int:
    """Return the bytes of the file, or of all files of a lake."""
    if isinstance(warehouse.path, LakeAddress):
        from bufferhouse.warehouse.lake import compact as keeping

        return keeping.size(warehouse.con).file_bytes
    return warehouse.path.stat().st_size


def stats(con: duckdb.DuckDBPyConnection) -> dict:
    """Return rows and bytes per table, dumps per run, the share of repeats, the last load, rejects by rule."""
    tables = con.execute(
        "SELECT schema_name || '.' || table_name, estimated_size FROM duckdb_tables()"
        " WHERE database_name = current_database() AND schema_name <> 'meta' ORDER BY 1"
    ).fetchall()
    counted = {name: con.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name, _ in tables}
    sizes = _sizes(con, counted)
    rows = {name: {"rows": count, "bytes": sizes.get(name, 0)} for name, count in counted.items()}
    observations = con.execute("SELECT COUNT(*), COUNT(DISTINCT dump_id) FROM staging.observations").fetchone()
    rejects = con.execute(
        "SELECT rule, state, COUNT(*) FROM raw.rejects GROUP BY rule, state ORDER BY 3 DESC, 1, 2"
    ).fetchall()
    return {
        "tables": rows,
        "runs": dict(
            con.execute(
                "SELECT r.run_name, COUNT(o.dump_id) FROM staging.runs AS r"
                " LEFT JOIN staging.observations AS o USING (run_id)"
                " GROUP BY r.run_name, r.started_at, r.natural_name ORDER BY r.started_at, r.natural_name"
            ).fetchall()
        ),
        "observations": observations[0],
        "dumps": counted["raw.dumps"],
        "repeat_share": round(1 - observations[1] / observations[0], 4) if observations[0] else 0.0,
        "text_bytes": con.execute("SELECT CAST(COALESCE(SUM(text_bytes), 0) AS BIGINT) FROM raw.dumps").fetchone()[0],
        "last_load": _last_load(con),
        "open_rejects": sum(count for _, state, count in rejects if state == "open"),
        "rejects": [{"rule": rule, "state": state, "count": count} for rule, state, count in rejects],
    }


def _last_load(con: duckdb.DuckDBPyConnection) -> dict | None:
    """Return the last load that is kept: its number, when it ended, and its figures; None before the first."""
    row = con.execute(
        "SELECT load_id, finished_at, seen_count, new_count, known_count, rejected_count, text_bytes"
        " FROM raw.loads ORDER BY load_id DESC LIMIT 1"
    ).fetchone()
    names = ("load_id", "finished_at", "seen", "new", "known", "rejected", "bytes")
    return None if row is None else {**dict(zip(names, row, strict=True)), "finished_at": moment_text(row[1])}


def moment_text(moment: datetime | None) -> str | None:
    """Return a moment as ISO 8601 in UTC, to the second."""
    return None if moment is None else f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _sizes(con: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> dict[str, int]:
    if is_lake(con):
        from bufferhouse.warehouse.lake.compact import bytes_by_table

        return bytes_by_table(con)
    size_of_block = con.execute("SELECT block_size FROM pragma_database_size()").fetchone()[0]
    return {name: _blocks(con, name) * size_of_block for name in tables}


def _blocks(con: duckdb.DuckDBPyConnection, table: str) -> int:
    """Return how many blocks of the file a table's columns lie in; small tables share blocks, which count for each."""
    return con.execute(
        "SELECT COUNT(DISTINCT block) FROM (SELECT unnest(list_append(additional_block_ids, block_id)) AS block"
        f" FROM pragma_storage_info('{table}')) WHERE block >= 0"
    ).fetchone()[0]
