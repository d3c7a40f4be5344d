"""Copy a warehouse to another place or of another kind, a file or a lake, and prove the copy."""

import shlex
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb

from bufferhouse.engine.sql import streamed, table_names
from bufferhouse.errors import UsageError, WarehouseError
from bufferhouse.models import build
from bufferhouse.paths import MODELS
from bufferhouse.warehouse.address import FileAddress, address_of
from bufferhouse.warehouse.open import Place, reading, writing
from bufferhouse.warehouse.warehouse import Warehouse
from schemas import DERIVED

_ROWS = 100_000  # of a piece that lies in memory


def copy_warehouse(
    source: Place, target: Place, *, wait: float = 0.0, progress: Callable[[int, int], None] | None = None
) -> dict[str, int]:
    """Copy every table to a warehouse that has no rows, made if need be; return the rows by table.

    All of it is one transaction, committed when counts and hashes of each table agree: a copy that fails or is killed
    leaves a warehouse without rows, and the same call does it anew. Numbers of runs, loads and shapes stay. A file that
    is made of a file is open to nobody else, and closed to nobody.

    Raises:
        UsageError: there is no warehouse to copy, its models are not those of this version, or the target has rows.
        WarehouseBusy: as `reading` and `Warehouse`.
        WarehouseError: a table is not the same; nothing was committed.
    """
    old_place, new_place = address_of(source), address_of(target)
    if old_place.key == new_place.key:
        raise UsageError(f"expected two warehouses, found {source} twice")
    is_made = isinstance(new_place, FileAddress) and not new_place.file.exists()
    with reading(source, wait=wait) as reader, writing(target, wait=wait) as writer:
        old, new = reader.con, writer.con
        if not build.is_current(old, MODELS):
            raise UsageError(f"the models of {source} are of another version; renew them with: bufferhouse build")
        if new.execute("SELECT 1 FROM raw.loads UNION ALL SELECT 1 FROM raw.runs LIMIT 1").fetchall():
            raise UsageError(
                f"{target} has rows; expected a warehouse without any, or none. If only the proof of a copy was "
                f"interrupted, prove the copy with: bufferhouse verify --warehouse {shlex.quote(str(target))}"
            )
        if is_made and isinstance(old_place, FileAddress):
            _give_to_same(old_place.file, new_place.file)  # before a row is in it
        names = _tables(reader)
        rows = {}
        with writer.alone(), writer.transaction():
            for number, name in enumerate(names, 1):
                rows[name] = _copy(reader, writer, name)
                if progress:
                    progress(number, len(names))
            writer.end_copy()
    return rows


def _give_to_same(file: Path, copy: Path) -> None:
    """Let those read and write a copy who may read and write the file; its owner may do both."""
    with suppress(FileNotFoundError):  # only the published copy is there
        copy.chmod(stat.S_IMODE(file.stat().st_mode) | stat.S_IRUSR | stat.S_IWUSR)


def _tables(warehouse: Warehouse) -> list[str]:
    """Return the names of what has rows of its own: the tables of raw, and the models that are stored."""
    stored = [table for table in table_names(warehouse.con, "raw") if table not in DERIVED]
    return [*(f"raw.{table}" for table in stored), *warehouse.models()]


def _copy(reader: Warehouse, writer: Warehouse, name: str) -> int:
    old, new = reader.con, writer.con
    schema, table = name.split(".")
    into, besides = (writer.stored(table), writer.besides(table)) if schema == "raw" else (name, "")
    columns = [column[0] for column in old.execute(f"SELECT * FROM {name} LIMIT 0").description]
    with streamed(new, "rows_to_copy", old.execute(f"SELECT * FROM {name}").to_arrow_reader(_ROWS)):
        new.execute(f"INSERT INTO {into} BY NAME SELECT *{besides} FROM rows_to_copy")
    before, after = _fingerprint(old, name, columns), _fingerprint(new, name, columns)
    if before != after:
        raise WarehouseError(
            f"{name}: expected {before[0]} rows with the hash {before[1]}, found {after[0]}, {after[1]}"
        )
    return after[0]


def _fingerprint(con: duckdb.DuckDBPyConnection, name: str, columns: list[str]) -> tuple[int, str]:
    """Return the number of rows of a table, and a hash that does not depend on their order."""
    return con.execute(
        f"SELECT COUNT(*), CAST(COALESCE(SUM(CAST(hash({', '.join(columns)}) AS HUGEINT)), 0) AS VARCHAR) FROM {name}"
    ).fetchone()
