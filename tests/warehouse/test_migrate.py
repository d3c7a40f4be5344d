"""Migrations: one after the other, each whole or not at all."""

import duckdb
import pytest

from bufferhouse.errors import WarehouseError
from bufferhouse.warehouse import migrate
from bufferhouse.warehouse.open import writing
from tests.command_line import call


@pytest.fixture
def con():
    with duckdb.connect() as con:
        yield con


def test_an_empty_file_gets_all_migrations_and_a_current_one_none(con):
    """Numbers are applied in order, written down with their names, and never twice."""
    known = migrate.migrations()
    assert 0 == migrate.applied_version(con)
    assert list(known) == migrate.migrate(con)
    assert [] == migrate.migrate(con)
    assert max(known) == migrate.applied_version(con)
    assert [(number, path.stem[5:]) for number, path in known.items()] == con.execute(
        "SELECT version, migration_name FROM meta.migrations ORDER BY version"
    ).fetchall()


def test_migrations_are_numbered_without_gaps():
    """0001, 0002 and so on, each number once."""
    numbers = [int(path.name[:4]) for path in sorted(migrate.MIGRATIONS.glob("*.sql"))]
    assert list(range(1, len(numbers) + 1)) == numbers == list(migrate.migrations())


def test_a_warehouse_of_a_newer_version_is_refused(warehouse, fleet):
    """Neither written nor read by an older program; the message says which one to install."""
    with duckdb.connect(str(warehouse)) as con:
        con.execute("INSERT INTO meta.migrations VALUES (9999, 'from_the_future', now())")
    with pytest.raises(WarehouseError, match="9999"), writing(warehouse):
        pass
    for words in (["ingest", fleet / "seeds"], ["query", "SELECT 1"]):
        outcome = call(*words, "--warehouse", warehouse)
        assert (2, "") == (outcome.code, outcome.out)
        assert "install the newer bufferhouse that wrote it" in outcome.err


def test_a_migration_that_fails_leaves_nothing(con):
    """Each migration is a transaction: where its second statement fails, its first has not happened."""
    con.execute("CREATE SCHEMA meta")
    with pytest.raises(duckdb.CatalogException, match='"meta" already exists'):
        migrate.migrate(con)
    assert [] == con.execute("SELECT schema_name FROM duckdb_schemas() WHERE schema_name = 'raw'").fetchall()
    assert 0 == migrate.applied_version(con)


def test_the_rows_of_a_file_that_an_older_version_wrote_are_put_in_order(con, tmp_path):
    """Migration 0003 says in each row of a file which one it replaced: of other runs and files, none."""
    known = migrate.migrations()
    for number in (1, 2):
        (tmp_path / known[number].name).write_text(known[number].read_text())
    migrate.migrate(con, directory=tmp_path)
    kinds = dict(con.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'observations'")
                 .fetchall())  # fmt: skip
    for run_id, path, load_id in ((1, "a", 3), (1, "a", 1), (1, "b", 1), (1, "a", 7), (2, "a", 4)):
        row = {"run_id": run_id, "relative_path": path, "load_id": load_id}
        row |= {name: 0 for name, kind in kinds.items() if kind == "BIGINT" and name not in row}
        row |= {name: "" for name, kind in kinds.items() if kind == "VARCHAR" and name not in row}
        con.execute(f"INSERT INTO raw.observations ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                    list(row.values()))  # fmt: skip
    assert [3] == migrate.migrate(con, directory=known[3].parent)[:1]
    found = con.execute("SELECT run_id, relative_path, load_id, replaced_load_id FROM raw.observations ORDER BY ALL")
    assert [(1, "a", 1, None), (1, "a", 3, 1), (1, "a", 7, 3), (1, "b", 1, None), (2, "a", 4, None)] == found.fetchall()
