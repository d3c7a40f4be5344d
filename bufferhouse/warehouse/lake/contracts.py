"""Bring a lake to the schema of this version.

A new lake begins at the newest. An older one gets what is missing: tables, and columns, which are null in old rows.
A migration that moves rows as well needs a file of the same number in `sql/migrations/lake/`, which is run behind it.
"""

import duckdb

from bufferhouse.engine.connection import LAKE
from bufferhouse.engine.sql import transaction
from bufferhouse.errors import WarehouseError
from bufferhouse.paths import MIGRATIONS
from bufferhouse.warehouse.lake import schema as layout
from bufferhouse.warehouse.migrate import applied_version, check_empty, migrations

LAKE_MIGRATIONS = MIGRATIONS / "lake"


def migrate_lake(con: duckdb.DuckDBPyConnection, name: str) -> list[int]:
    """Apply what is missing, all of it in one transaction; return the numbers applied.

    Raises:
        WarehouseError: the lake was written by a newer version, or holds tables that are not a warehouse's.
        duckdb.Error: it failed; nothing was changed.
    """
    version = applied_version(con)
    check_version(version, name, is_reader=False)
    missing = [number for number in migrations() if number > version]
    if not missing:
        return []
    if version == 0:
        check_empty(con, name)
    with transaction(con):
        for statement in _statements(con):
            con.execute(statement)
        for number in missing:
            own = list(LAKE_MIGRATIONS.glob(f"{number:04}_*.sql"))
            if version and own:
                con.execute(own[0].read_text(encoding="utf-8"))
            title = migrations()[number].stem[5:]
            con.execute("INSERT INTO meta.migrations VALUES (?, ?, now())", [number, title])
    if version == 0:
        # A few rows at a time lie in the catalog, until they are compacted; whole files that were refused may be large.
        where = "schema => 'appended', table_name => 'rejects'"
        con.execute(f"CALL ducklake_set_option('{LAKE}', 'data_inlining_row_limit', 0, {where})")
    return missing


def check_version(version: int, name: str, *, is_reader: bool) -> None:
    """Refuse a lake that this version cannot work with, and say the way out.

    Raises:
        WarehouseError: it is newer than this bufferhouse, or older and opened to be read.
    """
    known = layout.version()
    if version > known or (is_reader and version < known):
        way = "any ingest migrates it" if version < known else "install the newer bufferhouse that wrote it"
        raise WarehouseError(f"{name} has schema version {version}, this bufferhouse knows version {known}; {way}")


def _statements(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return what turns the tables that are there into those of this version."""
    there = {table.name: {column.name for column in table.columns} for table in layout.tables_in(con)}
    wanted = layout.tables()
    statements = [f"CREATE SCHEMA IF NOT EXISTS {schema}" for schema in ("raw", "meta", "appended")]
    for table in wanted:
        if table.name not in there:
            statements += layout.create(table)
            continue
        new = [column for column in table.columns if column.name not in there[table.name]]
        statements += [f"ALTER TABLE {table.name} ADD COLUMN {column.name} {column.kind}" for column in new]
        statements += layout.comments(layout.Table(table.name, None, new))
    return statements + layout.views(wanted)
