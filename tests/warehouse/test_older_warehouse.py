"""A warehouse of an older version meets a newer program: migrated with a copy beside it, or left as it was."""

import os
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest
import zstandard

from bufferhouse.paths import CHECKOUT
from bufferhouse.warehouse import migrate
from tests.command_line import call, kill_group, run, start
from tests.ingests import ingest, write_dumps
from tests.warehouse.test_export import hashes
from tests.warehouse.test_lock import HOLDER
from tests.warehouses import published_path, rows, unproved

# The program of a later release, whose migrations are those of a folder.
LATER = """
import sys
from pathlib import Path
from bufferhouse import paths as layout
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
    assert (2, True) == (outcome.code, "migrate it with: bufferhouse build" in outcome.err)
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
    assert "was not changed" in outcome.err
    assert "no_such_column" in outcome.err
    assert "Traceback" not in outcome.err
    assert NOW == version(own_warehouse)
    assert "weather" not in columns(own_warehouse, "runs")
    [copy] = own_warehouse.parent.glob("*.before-*")
    assert f"{own_warehouse.name}.before-{NOW + 2:04}" == copy.name
    assert NOW == version(copy)
    assert [] == unproved(own_warehouse)


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


# One warehouse of the seeds by each schema, as it was written then.
KEPT = CHECKOUT / "tests" / "data" / "warehouses"


def tables(path: Path) -> list[tuple]:
    """The columns of raw, with their types, as a database has them."""
    return rows(
        path,
        "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() WHERE schema_name = 'raw'"
        " ORDER BY table_name, column_index",
    )


def kept(number: int, directory: Path) -> Path:
    """Unpack the warehouse that was written by a schema."""
    path = directory / f"{number:04}.duckdb"
    path.write_bytes(zstandard.decompress((KEPT / f"{path.name}.zst").read_bytes()))
    return path


def test_the_newest_schema_has_a_warehouse_that_is_kept(request, warehouse, fleet, tmp_path):
    """A new migration brings one, which --golden-update writes once; what a released one made never changes."""
    if request.config.getoption("--golden-update") and not (KEPT / f"{NOW:04}.duckdb.zst").exists():
        ingest(tmp_path / "new.duckdb", fleet / "seeds")
        with duckdb.connect(str(tmp_path / "new.duckdb")) as con:  # where this checkout lies is nobody's business
            con.execute("UPDATE raw.runs SET root = replace(root, ?, '/srv/train')", [str(fleet)])
            con.execute("UPDATE raw.observations SET source_uri = replace(source_uri, ?, '/srv/train')", [str(fleet)])
        assert 0 == call("compact", "--warehouse", tmp_path / "new.duckdb").code
        KEPT.mkdir(exist_ok=True)
        data = zstandard.ZstdCompressor(19).compress((tmp_path / "new.duckdb").read_bytes())
        (KEPT / f"{NOW:04}.duckdb.zst").write_bytes(data)
    assert tables(warehouse) == tables(kept(NOW, tmp_path))


# The first one passes through all migrations, and gets all that the others get, too.
DAILY = min(migrate.migrations())


@pytest.mark.parametrize(
    "number",
    [pytest.param(one, marks=[] if one == DAILY else [pytest.mark.soak]) for one in migrate.migrations()],
)
def test_a_warehouse_of_each_schema_opens_and_loses_nothing(number, warehouse, fleet, tmp_path):
    """It gets the tables of today, proves every dump, gives back the seeds, and goes on loading."""
    path = kept(number, tmp_path)
    assert number == version(path)
    assert 0 == call("build", "--warehouse", path).code
    assert (NOW, tables(warehouse)) == (version(path), tables(path))
    assert "5 of 5 dumps proved\n" == call("verify", "--warehouse", path).out
    assert 0 == call("export", "--all", "-o", tmp_path / "out", "--warehouse", path).code
    seeds = {name: digest for name, digest in hashes(fleet / "seeds").items() if name.endswith(".txt")}
    assert seeds == hashes(tmp_path / "out" / "seeds")
    write_dumps(tmp_path / "more", [1])
    code, summary = ingest(path, tmp_path / "more")
    assert (0, 1) == (code, summary["new"])
    assert 0 == call("check", "--warehouse", path).code


def test_an_upgrade_that_was_stopped_says_how_to_go_on(tmp_path):
    """Killed behind the migrations, it leaves the models of before: what they lack is told with the way out."""
    path = kept(min(migrate.migrations()), tmp_path)
    with duckdb.connect(str(path)) as con:
        migrate.migrate(con)
    for words in (["runs", "ls"], ["report", "run", "seeds"], ["query", "--ask", "biggest_at_peak"]):
        said = call(*words, "--warehouse", path)
        assert (2, "") == (said.code, said.out)
        assert "renew it with: bufferhouse build" in said.err
    said = call("query", "FROM marts.runs_v2", "--warehouse", path)
    assert (2, True) == (said.code, "renew them with: bufferhouse build" in said.err), said.err
    said = call("check", "--warehouse", path)  # what they find none of is not all that this version looks for
    assert (0, "bufferhouse: these are the checks of another version; renew them with: bufferhouse build\n") == (
        said.code, said.err,
    )  # fmt: skip


def test_a_published_copy_of_an_older_schema_is_passed_by(warehouse, tmp_path):
    """After an upgrade somebody writes, and nobody published since: a reader is told so, and waits where it may."""
    os.utime(shutil.copy(kept(min(migrate.migrations()), tmp_path), published_path(warehouse)), (0, 0))
    writing = start(warehouse, code=HOLDER, stdin=subprocess.PIPE)
    try:
        assert "held\n" == writing.stdout.readline()
        refused = call("stats", "--warehouse", warehouse)
        told = f"{warehouse} is being written by process {writing.pid} on "
        assert (3, True) == (refused.code, told in refused.err), refused.err
        waiting = start("stats", "--wait", "60", "--warehouse", warehouse)
        writing.communicate("go\n", timeout=60)
        waiting.communicate(timeout=60)
        assert 0 == waiting.returncode
    finally:
        kill_group(writing)
