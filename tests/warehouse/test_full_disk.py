"""No space left: said clearly, nothing half-loaded, and finished by the same command when there is space again."""

import os
import shutil
from pathlib import Path

import pytest

from tests.command_line import call, run
from tests.warehouse.disks import space
from tests.warehouse.lake.lakes import needs_lake
from tests.warehouses import contents, counts, published_path, rows

pytest_plugins = ["tests.system.surroundings"]

# `bufferhouse` where no file may grow beyond a limit; for whoever may not mount a small disk.
LIMITED = """
import resource, sys
limit = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
from bufferhouse.cli import main
main()
"""


def assert_whole(warehouse: Path, count: int) -> None:
    """Every load is whole: what raw.loads says is there, is proved, and closes; some of the dumps are not there yet."""
    tables = counts(warehouse)
    assert BATCH <= tables["dumps"] < count
    assert [(tables["dumps"], tables["observations"])] == rows(
        warehouse, "SELECT COALESCE(SUM(new_count), 0), COALESCE(SUM(new_count + known_count), 0) FROM raw.loads"
    )
    assert f"{tables['dumps']:,} of {tables['dumps']:,} dumps proved\n" == call("verify", "--warehouse", warehouse).out


def assert_full(outcome, warehouse: Path) -> None:
    """Exit 3, which file, why, and what to do; nothing on standard output, no traceback."""
    assert (3, "") == (outcome.code, outcome.out)
    assert f"no space left for {warehouse}: " in outcome.err
    assert "what was committed is kept, make space and run the same command again" in outcome.err
    assert "Traceback" not in outcome.err


BATCH = 10  # dumps, so that some batches are in before the disk is full


@pytest.fixture
def small_batches(monkeypatch) -> None:
    """Load a few dumps at a time."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", str(BATCH))


@pytest.fixture(scope="module")
def some(fleet, tmp_path_factory) -> Path:
    """A folder with the largest runs of the fleet."""
    folder = tmp_path_factory.mktemp("some")
    for name in ("jaxlib-0.4.13", "jaxlib-0.8.0", "tpu-v5e-jaxlib-0.8.3-libtpu-0.0.33"):
        shutil.copytree(fleet / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def of_some(some, blank_warehouse, tmp_path_factory) -> Path:
    """A warehouse of them. To be read, never written."""
    path = Path(shutil.copy(blank_warehouse, tmp_path_factory.mktemp("of-some") / "w.duckdb"))
    assert 0 == call("ingest", some, "--warehouse", path).code
    return path


@pytest.mark.slow
def test_a_full_disk_stops_an_ingest_that_goes_on_later(disk, some, of_some, small_batches):
    """What was committed is whole; with more space the same command loads the rest, and all rows are there."""
    warehouse, expected = disk / "w.duckdb", contents(of_some)
    assert_full(call("ingest", some, "--warehouse", warehouse), warehouse)
    assert_whole(warehouse, len(expected["dumps"]))
    assert_full(call("ingest", some, "--warehouse", warehouse), warehouse)
    space(disk, "100m")
    outcome = call("ingest", some, "--warehouse", warehouse)
    assert 0 == outcome.code, outcome.err
    found = contents(warehouse)
    for table in expected.keys() - {"loads"}:
        assert expected[table] == found[table], table


def test_a_disk_that_is_full_already(disk, fleet):
    """Not even the first tables fit: exit 3, and the same command works later."""
    (disk / "other").write_bytes(b"x" * (3 << 20))
    warehouse = disk / "w.duckdb"
    outcome = call("ingest", fleet / "seeds", "--warehouse", warehouse)
    assert (3, "") == (outcome.code, outcome.out)
    assert "o space left" in outcome.err
    assert "Traceback" not in outcome.err
    (disk / "other").unlink()
    assert 0 == call("ingest", fleet / "seeds", "--warehouse", warehouse).code
    assert 5 == counts(warehouse)["dumps"]


def test_an_export_that_a_full_disk_stopped_goes_on(disk, example_warehouse):
    """It names the file, which is whole or not there, and the same command writes the rest."""
    (disk / "other").write_bytes(b"x" * (2 << 20))
    words = ("export", "--all", "-o", disk / "out", "--warehouse", example_warehouse)
    outcome = call(*words)
    assert (3, "") == (outcome.code, outcome.out)
    assert f"bufferhouse: {disk / 'out'}/" in outcome.err
    assert "No space left on device; make space and run the same command again" in outcome.err
    assert [] == list(disk.rglob("*.new"))
    (disk / "other").unlink()
    space(disk, "100m")
    outcome = call(*words)
    assert 0 == outcome.code, outcome.err


@needs_lake
@pytest.mark.soak
def test_a_lake_on_a_disk_that_is_full(disk, fleet):
    """Exit 3 at once, with the reason and not only that it failed; the same command makes it later."""
    space(disk, "1m")
    lake = f"ducklake:{disk / 'lake.ducklake'}"
    outcome = run("ingest", fleet / "seeds", "--warehouse", lake)
    assert_full(outcome, lake)
    assert f"no space left for {lake}: Could not write file" in outcome.err
    assert "Failed to commit" not in outcome.err
    space(disk, "100m")
    assert 0 == call("ingest", fleet / "seeds", "--warehouse", lake).code
    assert "5 of 5 dumps proved\n" == call("verify", "--warehouse", lake).out


def test_a_warehouse_that_does_not_get_its_tables_is_none(disk, fleet):
    """However much fits: what is there then can be read, and is empty; else nothing is there."""
    ends = set()
    for free in (100, 1100, 2000):
        (disk / "other").write_bytes(b"x" * ((3072 - free) << 10))
        warehouse = disk / "w.duckdb"
        assert_full(call("ingest", fleet, "--warehouse", warehouse), warehouse)
        if warehouse.exists():
            assert 0 == call("stats", "--warehouse", warehouse).code
            assert counts(warehouse)["dumps"] == 0
        ends.add(warehouse.exists())
        for path in disk.iterdir():
            path.unlink()
    assert {True, False} == ends


def test_a_page_that_does_not_fit_leaves_the_old_one(disk, example_warehouse):
    """Exit 3: with more space the same command works."""
    (disk / "page.html").write_text("old")
    (disk / "other").write_bytes(b"x" * (2900 << 10))
    words = ["report", "run", "seeds", "--warehouse", example_warehouse, "--html", disk / "page.html"]
    outcome = call(*words)
    assert (3, True) == (outcome.code, "No space left on device; make space and run" in outcome.err), outcome.err
    assert ("old", {"page.html", "other"}) == ((disk / "page.html").read_text(), {path.name for path in disk.iterdir()})
    (disk / "other").unlink()
    assert 0 == call(*words).code


def test_a_copy_for_readers_that_does_not_fit(disk, example_warehouse, fleet):
    """The old copy stays and answers, the half-written one goes, the warehouse is as it was."""
    space(disk, "100m")
    warehouse = disk / "w.duckdb"
    shutil.copy(example_warehouse, warehouse)
    assert 0 == call("publish", "--warehouse", warehouse).code
    copy, before = published_path(warehouse).read_bytes(), contents(warehouse)
    free = os.statvfs(disk)
    (disk / "other").write_bytes(b"x" * (free.f_bavail * free.f_frsize - (1 << 20)))
    for verb in ("publish", "compact"):
        outcome = call(verb, "--warehouse", warehouse)
        assert (3, "") == (outcome.code, outcome.out)
        assert "o space left" in outcome.err
        assert "Traceback" not in outcome.err
        assert copy == published_path(warehouse).read_bytes()
        assert before == contents(warehouse)
        names = {path.name for path in disk.iterdir()}
        assert {"w.duckdb", "w.duckdb.lock", "w.published.duckdb", "other"} == names


def test_a_limit_on_the_size_of_files(warehouse, fleet, monkeypatch):
    """A limit of the shell is a full disk, too; nobody need be root for it."""
    monkeypatch.setenv("BUFFERHOUSE_BATCH_DUMPS", "40")
    limit = warehouse.stat().st_size + 1_200_000
    assert_full(run(limit, "ingest", fleet, "--warehouse", warehouse, code=LIMITED), warehouse)
    assert_whole(warehouse, 126)
    assert 0 == call("ingest", fleet, "--warehouse", warehouse).code
    assert 126 == counts(warehouse)["dumps"]


def test_a_log_that_does_not_fit_into_the_file(warehouse, fleet):
    """All is committed, so the exit is 0; that it stands in the log is said, and the next command takes it in."""
    assert 0 == call("ingest", fleet / "seeds", "--warehouse", warehouse).code
    log = warehouse.with_name(f"{warehouse.name}.wal")
    words = ("ingest", fleet / "jaxlib-0.4.13", "--warehouse", warehouse)
    outcome = run(warehouse.stat().st_size + (64 << 10), *words, code=LIMITED)
    assert (0, True) == (outcome.code, log.exists()), outcome.err
    told = f"bufferhouse: {warehouse}: what was committed stays in the log beside it, which is part of it: "
    assert told in outcome.err
    assert "File too large; the next command that writes takes it in, where there is space by then\n" in outcome.err
    before = contents(warehouse)
    outcome = call(*words)
    assert (0, False, False) == (outcome.code, told in outcome.err, log.exists())
    assert before["dumps"] == contents(warehouse)["dumps"]
