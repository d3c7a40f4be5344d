"""What is in a warehouse, in figures."""

from datetime import UTC, datetime

import duckdb

from bufferhouse.warehouse.warehouse import Warehouse
from schemas import DERIVED


def stats(warehouse: Warehouse) -> dict:
    """Return rows and bytes per table, dumps per run, the share of repeats, the last load, rejects by rule."""
    con = warehouse.con
    found = con.execute(
        "SELECT schema_name || '.' || table_name FROM duckdb_tables()"
        " WHERE database_name = current_database() AND schema_name <> 'meta' ORDER BY 1"
    ).fetchall()
    tables = [name for (name,) in found]
    sizes = warehouse.sizes(tables)
    names = [*tables, *(f"raw.{view}" for view in DERIVED)]  # whose rows take no bytes
    counted = {name: con.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in names}
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
    """Return the last load that saw dumps, loaded or refused: number, end, and figures; None before the first.

    A load of logs alone comes with every line that a log grows by, and what is parsed again was there before.
    """
    row = con.execute(
        "SELECT load_id, finished_at, seen_count, new_count, known_count, rejected_count, text_bytes"
        " FROM raw.loads WHERE seen_count > 0 ORDER BY load_id DESC LIMIT 1"
    ).fetchone()
    names = ("load_id", "finished_at", "seen", "new", "known", "rejected", "bytes")
    return None if row is None else {**dict(zip(names, row, strict=True)), "finished_at": moment_text(row[1])}


def moment_text(moment: datetime | None) -> str | None:
    """Return a moment as ISO 8601 in UTC, to the second."""
    return None if moment is None else f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
