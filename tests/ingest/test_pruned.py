"""What retention removed and still lies in a source: left out of a pass, until it changes or is asked for."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.command_line import call
from tests.ingests import SUFFIX, write_dumps
from tests.sources.test_archive import archived
from tests.synthetic import small_dump
from tests.warehouses import published_path, rows

CONFIG = """
[[sources]]
name = "nightly"
paths = ["nightly"]
runs = "{run}/module_*"
settle = "0s"
"""


def write_nights(folder: Path) -> Path:
    """Write the files of three runs, which are of 2023, and nothing else below a folder."""
    shutil.rmtree(folder / "nightly", ignore_errors=True)
    (folder / "bufferhouse.toml").write_text(CONFIG)
    for day in (1, 2, 3):
        files = write_dumps(folder / "nightly" / f"day_{day}", [day, 10 + day])
        if day == 1:
            files.append(folder / "nightly" / "day_1" / "train.log")
            files[-1].write_text("step 1\n")
        for file in files:
            os.utime(file, (1_700_000_000 + day, 1_700_000_000 + day))
    return folder


@pytest.fixture(scope="module")
def pruned(blank_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the three runs with a warehouse `kept.duckdb` of them, the older two of which were pruned."""
    folder = write_nights(tmp_path_factory.mktemp("pruned"))
    warehouse = shutil.copy(blank_warehouse, folder / "warehouse.duckdb")
    one_pass(folder)
    assert 0 == call("prune", "--keep-runs", 1, "--yes", "--warehouse", warehouse).code
    Path(warehouse).rename(folder / "kept.duckdb")
    return folder


@pytest.fixture
def configured(pruned: Path) -> Path:
    """The folder as it was then: a configuration beside the warehouse."""
    published_path(pruned / "warehouse.duckdb").unlink(missing_ok=True)
    shutil.copy(pruned / "kept.duckdb", pruned / "warehouse.duckdb")
    return write_nights(pruned)


@pytest.fixture
def its_warehouse(configured: Path) -> Path:
    """The warehouse beside that configuration."""
    return configured / "warehouse.duckdb"


def one_pass(folder) -> dict:
    outcome = call("ingest", "--config", folder / "bufferhouse.toml", "--format", "json")
    assert 0 == outcome.code, outcome.err
    return json.loads(outcome.out)


def runs_of(warehouse) -> list[tuple[str, int]]:
    return rows(
        warehouse,
        "SELECT run_name, COUNT(*) FROM raw.observations JOIN raw.runs USING (run_id) GROUP BY run_name ORDER BY ALL",
    )


def test_pruned_runs_stay_out(configured, its_warehouse):
    """The pass counts them, and what the source has besides is loaded."""
    write_dumps(configured / "nightly" / "day_4", [4])
    said = one_pass(configured)
    assert ({"day_1": 2, "day_2": 2}, 3, 1, 2) == tuple(said[name] for name in ("pruned", "seen", "new", "known"))
    assert [("day_3", 2), ("day_4", 1)] == runs_of(its_warehouse)
    told = call("ingest", "--config", configured / "bufferhouse.toml").out
    assert "left out: 4 dumps of 2 runs that retention removed, day_1 and 1 other run; to load one again, " in told


def test_a_pruned_run_with_a_newer_dump_is_loaded_whole(configured, its_warehouse):
    """Whoever compiles into a folder of last week goes on there."""
    write_dumps(configured / "nightly" / "day_1", [5])
    assert {"day_2": 2} == one_pass(configured)["pruned"]
    assert [("day_1", 3), ("day_3", 2)] == runs_of(its_warehouse)


def test_a_pruned_run_that_is_named_is_loaded(configured, its_warehouse):
    """As are those that `runs rm` removed, which asks for no reason."""
    assert 0 == call("ingest", configured / "nightly" / "day_2", "--warehouse", its_warehouse).code
    assert [("day_2", 2), ("day_3", 2)] == runs_of(its_warehouse)
    assert {"day_1": 2} == one_pass(configured)["pruned"]
    assert 0 == call("runs", "rm", "day_2", "day_3", "--yes", "--warehouse", its_warehouse).code
    assert {"day_1": 2, "day_2": 2} == one_pass(configured)["pruned"]
    assert [("day_3", 2)] == runs_of(its_warehouse)


def test_a_run_that_was_renamed_and_pruned_is_told_by_its_place(configured, its_warehouse):
    """Its directory calls it by the name that it had before."""
    write_dumps(configured / "nightly" / "day_0", [6])
    one_pass(configured)
    assert 0 == call("runs", "rename", "day_0", "zero", "--warehouse", its_warehouse).code
    assert 0 == call("runs", "set", "zero", "started_at=2020-01-01", "--warehouse", its_warehouse).code
    assert 0 == call("prune", "--keep-runs", 1, "--yes", "--warehouse", its_warehouse).code
    assert {"day_0": 1, "day_1": 2, "day_2": 2} == one_pass(configured)["pruned"]


def test_an_archive_that_was_packed_anew_is_loaded(tmp_path, warehouse):
    """Its members keep the times that they had, so that its own time tells."""
    (tmp_path / "bufferhouse.toml").write_text('[[sources]]\nname = "a"\npaths = ["*.tar.gz"]\nsettle = "0s"\n')
    texts = {day: {f"{day}{SUFFIX}": small_dump(day)} for day in (1, 2)}
    for day, members in texts.items():
        os.utime(archived(tmp_path / f"day_{day}.tar.gz", members), (1_700_000_000 + day, 1_700_000_000 + day))
    one_pass(tmp_path)
    assert 0 == call("prune", "--keep-runs", 1, "--yes", "--warehouse", warehouse).code
    [kept] = runs_of(warehouse)
    assert 1 == len(one_pass(tmp_path)["pruned"])
    for day, members in texts.items():
        archived(tmp_path / f"day_{day}.tar.gz", {**members, f"3{SUFFIX}": small_dump(3)})
    assert {} == one_pass(tmp_path)["pruned"]
    assert [("day_1", 2), ("day_2", 2)] == runs_of(warehouse)
    assert kept in [("day_1", 1), ("day_2", 1)]


def test_a_run_of_two_sources_is_one_run(configured, its_warehouse):
    """Whichever source has the first of its dumps: a pass counts it once, and what is left out of it in both."""
    halves = "".join(
        f'[[sources]]\nname = "half_{number}"\npaths = ["nightly"]\nruns = "{{run}}/module_*"\nsettle = "0s"\n'
        f'include = ["module_{number}*"]\n'
        for number in ("000", "001")
    )
    (configured / "bufferhouse.toml").write_text(halves)
    write_dumps(configured / "nightly" / "day_4", [4, 14])
    said = one_pass(configured)
    expected = (["day_3", "day_4"], ["day_4"], {"day_1": 2, "day_2": 2}, 4)
    assert expected == tuple(said[name] for name in ("runs", "undescribed", "pruned", "seen"))
    assert [("day_3", 2), ("day_4", 2)] == runs_of(its_warehouse)
