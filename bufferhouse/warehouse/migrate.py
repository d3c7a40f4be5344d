"""Bring a warehouse to the schema of this version, one numbered migration after the other."""

from functools import lru_cache
from pathlib import Path

import duckdb

from bufferhouse.engine.journal import checkpoint
from bufferhouse.engine.sql import quoted, transaction
from bufferhouse.errors import WarehouseError
from bufferhouse.paths import MIGRATIONS
from bufferhouse.warehouse.file_copy import copy_file


@lru_cache
def migrations(directory: Path = MIGRATIONS) -> dict[int, Path]:
    """Return the migrations by number; files are called NNNN_what.sql."""
    return {int(path.name[:4]): path for path in sorted(directory.glob("[0-9][0-9][0-9][0-9]_*.sql"))}


def applied_version(con: duckdb.DuckDBPyConnection) -> int:
    """Return the number of the newest migration a warehouse has, 0 for an empty file."""
    try:
        con.execute("PRAGMA table_info('meta.migrations')")  # to look it up in duckdb_tables() would load every table
    except duckdb.CatalogException:
        return 0
    return con.execute("SELECT COALESCE(MAX(version), 0) FROM meta.migrations").fetchone()[0]


def check_empty(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Refuse to make a warehouse where somebody else's tables are.

    Raises:
        WarehouseError: there are some.
    """
    if con.execute("SELECT 1 FROM duckdb_tables() WHERE database_name = current_database()").fetchone():
        raise WarehouseError(f"{name} holds tables, and not those of a warehouse")


def check_version(version: int, name: str, *, is_reader: bool, directory: Path = MIGRATIONS) -> None:
    """Refuse a warehouse that this version cannot work with, and say the way out.

    Raises:
        WarehouseError: it is newer than this bufferhouse, or older and opened to be read.
    """
    known = max(migrations(directory))
    if version > known or (is_reader and version < known):
        way = "migrate it with: bufferhouse build" if version < known else "install the newer bufferhouse that wrote it"
        raise WarehouseError(f"{name} has schema version {version}, this bufferhouse knows version {known}; {way}")


def migrate(con: duckdb.DuckDBPyConnection, path: Path | None = None, directory: Path = MIGRATIONS) -> list[int]:
    """Apply all missing migrations in one transaction; return their numbers.

    A copy of a warehouse that has rows, `path` with `.before-NNNN` behind its name, is kept until that succeeded.

    Raises:
        WarehouseError: the warehouse was written by a newer version, or the database is somebody else's.
        duckdb.Error: a migration failed; nothing was changed.
    """
    known = migrations(directory)
    version = applied_version(con)
    check_version(version, "the warehouse", is_reader=False, directory=directory)
    missing = [number for number in known if number > version]
    if not missing:
        return []
    if version == 0:
        check_empty(con, str(path or "the database"))
    copy = None
    if version and path is not None:
        checkpoint(con)  # else the newest rows stand in the log beside the file
        copy = path.with_name(f"{path.name}.before-{missing[-1]:04}")
        copy_file(path, copy)
    with transaction(con):
        for number in missing:
            con.execute(known[number].read_text(encoding="utf-8"))
            con.execute(f"INSERT INTO meta.migrations VALUES ({number}, {quoted(known[number].stem[5:])}, now())")
    if copy is not None:
        copy.unlink()
    return missing
