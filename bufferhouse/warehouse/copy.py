"""Copy a warehouse to another place or of another kind, a file or a lake, and prove the copy."""

from collections.abc import Callable
from pathlib import Path

import duckdb

from bufferhouse.engine.connection import is_lake
from bufferhouse.engine.sql import registered
from bufferhouse.errors import UsageError, WarehouseError
from bufferhouse.models import build
from bufferhouse.paths import MODELS
from bufferhouse.warehouse.files import file_of
from bufferhouse.warehouse.lake.address import LakeAddress
from bufferhouse.warehouse.read import reading
from bufferhouse.warehouse.rows import stored
from bufferhouse.warehouse.warehouse import Warehouse

_ROWS = 100_000  # of a piece that lies in memory
# What a row of a history in a lake has besides, where it is the first that is said.
_BESIDES = {"runs": ", 0 AS changed_id, FALSE AS is_whole"}


def copy_warehouse(
    source: Path | LakeAddress,
    target: Path | LakeAddress,
    *,
    wait: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, int]:
    """Copy every table to a warehouse that has no rows, made if need be; return the rows by table.

    All of it is one transaction, committed when counts and hashes of each table agree: a copy that fails or is killed
    leaves a warehouse without rows, and the same call does it anew. Numbers of runs, loads and shapes stay.

    Raises:
        UsageError: there is no warehouse to copy, its models are not those of this version, or the target has rows.
        WarehouseBusy: as `reading.reading` and `Warehouse`.
        WarehouseError: a table is not the same; nothing was committed.
    """
    if _place(source) == _place(target):
        raise UsageError(f"expected two warehouses, found {source} twice")
    with reading(source, wait=wait) as (old, _), Warehouse(target, wait=wait) as writer:
        new = writer.con
        if not build.is_current(old, MODELS):
            raise UsageError(f"the models of {source} are of another version; bring them along: bufferhouse build")
        if new.execute("SELECT 1 FROM raw.loads UNION ALL SELECT 1 FROM raw.runs LIMIT 1").fetchall():
            raise UsageError(f"{target} has rows; expected a warehouse without any, or none")
        names = _tables(old)
        rows = {}
        with writer.alone(), writer.transaction():
            for number, name in enumerate(names, 1):
                rows[name] = _copy(old, new, name)
                if progress:
                    progress(number, len(names))
            if is_lake(new):
                new.execute(
                    "INSERT INTO appended.model_loads SELECT m.model_name, m.fingerprint, d.load_id"
                    " FROM meta.models AS m CROSS JOIN (SELECT DISTINCT load_id FROM raw.dumps) AS d"
                    " WHERE m.is_incremental"
                )
    return rows


def _place(warehouse: Path | LakeAddress) -> str:
    return str(warehouse if isinstance(warehouse, LakeAddress) else file_of(warehouse).absolute())


def _tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of what has rows of its own: the tables of raw, and the models that are stored."""
    raw = con.execute(
        "SELECT DISTINCT 'raw.' || table_name FROM duckdb_columns()"
        " WHERE schema_name = 'raw' AND database_name = current_database() ORDER BY 1"
    ).fetchall()
    models = con.execute("SELECT model_name FROM meta.models WHERE is_incremental ORDER BY ordinal").fetchall()
    return [name for (name,) in [*raw, *models]]


def _copy(old: duckdb.DuckDBPyConnection, new: duckdb.DuckDBPyConnection, name: str) -> int:
    schema, table = name.split(".")
    into = stored(new, table) if schema == "raw" else name
    besides = _BESIDES.get(table, "") if schema == "raw" and is_lake(new) else ""
    columns = [column[0] for column in old.execute(f"SELECT * FROM {name} LIMIT 0").description]
    told = old.execute(f"SELECT * FROM {name}").to_arrow_reader(_ROWS)
    with registered(new, "rows_to_copy", told):
        new.execute(f"INSERT INTO {into} BY NAME SELECT *{besides} FROM rows_to_copy")
    before, after = _fingerprint(old, name, columns), _fingerprint(new, name, columns)
    if before != after:
        raise WarehouseError(
            f"{name}: expected {before[0]} rows with the hash {before[1]}, found {after[0]}, {after[1]}"
        )
    return after[0]


def _fingerprint(con: duckdb.DuckDBPyConnection, name: str, columns: list[str]) -> tuple[int, str]:
    """Return how many rows a table has, and a hash of them that no order changes."""
    return con.execute(
        f"SELECT COUNT(*), CAST(COALESCE(SUM(CAST(hash({', '.join(columns)}) AS HUGEINT)), 0) AS VARCHAR) FROM {name}"
    ).fetchone()
