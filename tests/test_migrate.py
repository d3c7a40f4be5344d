"""Migrations: one after the other, each whole or not at all."""

import duckdb
import pytest

from bufferhouse import migrate
from bufferhouse.errors import WarehouseError
from bufferhouse.warehouse import Warehouse
from tests.commands import call


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
    with pytest.raises(WarehouseError, match="9999"), Warehouse(warehouse):
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
