"""A warehouse of an older version meets a newer program: migrated with a copy beside it, or left as it was."""

import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse import migrate
from tests.commands import call, run
from tests.ingests import write_dumps
from tests.warehouses import rows

# The program of a later release, whose migrations are those of a folder.
LATER = """
import sys
from pathlib import Path
from bufferhouse import layout
layout.MIGRATIONS = Path(sys.argv.pop(1))
from bufferhouse.cli import main
main()
"""
SECOND = "ALTER TABLE raw.runs ADD COLUMN weather VARCHAR;\nUPDATE raw.runs SET weather = 'dry';\n"
THIRD = "ALTER TABLE raw.runs RENAME COLUMN weather TO sky;\nCREATE TABLE meta.notes (note VARCHAR);\n"
WRONG = "CREATE TABLE meta.notes (note VARCHAR);\nUPDATE raw.runs SET no_such_column = 1;\n"


@pytest.fixture
def later(tmp_path):
    """A function that makes a folder of migrations: those of today, and some more."""

    def make(*more: str) -> Path:
        folder = tmp_path / "migrations"
        folder.mkdir()
        for path in migrate.MIGRATIONS.glob("*.sql"):
            shutil.copy(path, folder)
        first = max(migrate.migrations()) + 1
        for number, text in enumerate(more, first):
            (folder / f"{number:04}_later.sql").write_text(text)
        return folder

    return make


def version(path: Path) -> int:
    with duckdb.connect(str(path), read_only=True) as con:
        return migrate.applied_version(con)


def columns(path: Path, table: str) -> set[str]:
    return {name for (name,) in rows(path, "SELECT column_name FROM duckdb_columns() WHERE table_name = ?", [table])}


NOW = max(migrate.migrations())


def test_opening_migrates_and_the_older_program_then_refuses(own_warehouse, later, tmp_path):
    """All migrations that are missing run at the first writing command; no copy stays; rows stay."""
    folder = later(SECOND, THIRD)
    count = rows(own_warehouse, "SELECT COUNT(*) FROM raw.observations")
    write_dumps(tmp_path / "more", [1])
    outcome = run(folder, "ingest", tmp_path / "more", "--warehouse", own_warehouse, "--plan", code=LATER)
    assert (2, True) == (outcome.code, "any ingest migrates it" in outcome.err)
    assert NOW == version(own_warehouse)
    outcome = run(folder, "publish", "--warehouse", own_warehouse, code=LATER)
    assert 0 == outcome.code, outcome.err
    assert NOW + 2 == version(own_warehouse)
    assert "sky" in columns(own_warehouse, "runs")
    assert [("dry",)] == rows(own_warehouse, "SELECT DISTINCT sky FROM raw.runs")
    assert count == rows(own_warehouse, "SELECT COUNT(*) FROM raw.observations")
    assert [] == list(own_warehouse.parent.glob("*.before-*"))
    for words in (["ingest", tmp_path / "more"], ["query", "SELECT 1"], ["compact"]):
        refused = call(*words, "--warehouse", own_warehouse)
        assert (2, "") == (refused.code, refused.out)
        assert "install the newer bufferhouse that wrote it" in refused.err


def test_a_migration_that_fails_leaves_everything_as_it_was(own_warehouse, later):
    """Also those before it: exit 2, the reason, and a copy beside it in case; the older program goes on."""
    outcome = run(later(SECOND, WRONG), "publish", "--warehouse", own_warehouse, code=LATER)
    assert (2, "") == (outcome.code, outcome.out)
    assert "is as it was" in outcome.err
    assert "no_such_column" in outcome.err
    assert "Traceback" not in outcome.err
    assert NOW == version(own_warehouse)
    assert "weather" not in columns(own_warehouse, "runs")
    [copy] = own_warehouse.parent.glob("*.before-*")
    assert f"{own_warehouse.name}.before-{NOW + 2:04}" == copy.name
    assert NOW == version(copy)
    assert 0 == call("verify", "--warehouse", own_warehouse).code


def test_the_copy_has_what_was_not_in_the_file_yet(warehouse, later):
    """Rows that stood in the log beside the file are in the copy, too."""
    folder = later(WRONG)
    with duckdb.connect(str(warehouse)) as con:
        con.execute("SET wal_autocheckpoint = '1TB'")
        con.execute("INSERT INTO meta.settings VALUES ('late', 'yes')")
        with pytest.raises(duckdb.BinderException):
            migrate.migrate(con, warehouse, folder)
    [copy] = warehouse.parent.glob("*.before-*")
    assert [("yes",)] == rows(copy, "SELECT value FROM meta.settings WHERE name = 'late'")


def test_a_new_warehouse_needs_no_copy(tmp_path, later):
    """There is nothing to lose in an empty file."""
    with duckdb.connect(str(tmp_path / "new.duckdb")) as con:
        assert [*range(1, NOW + 2)] == migrate.migrate(con, tmp_path / "new.duckdb", later(SECOND))
    assert [] == list(tmp_path.glob("*.before-*"))


def test_a_database_of_somebody_else_is_left_alone(tmp_path):
    """A file with tables that are not those of a warehouse is refused, and no table is added."""
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE mine AS SELECT 1 AS x")
    write_dumps(tmp_path / "run", [1])
    outcome = call("ingest", tmp_path / "run", "--warehouse", path)
    assert (2, "") == (outcome.code, outcome.out)
    assert f"{path} holds tables, and not those of a warehouse" in outcome.err
    assert [("mine",)] == rows(path, "SELECT table_name FROM duckdb_tables()")
