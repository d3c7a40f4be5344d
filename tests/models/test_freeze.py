"""Frozen marts: what is released neither changes its SQL nor its result; a new version leaves the old one alone."""

import io
import json
import shutil
from contextlib import redirect_stdout
from pathlib import Path

import duckdb
import pytest

from bufferhouse.commands.freeze import main, release
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.models import build, freeze, project
from bufferhouse.paths import MODELS

MART = "marts/footprint_v1"
NAME = "marts.footprint_v1"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The fingerprints of every mart over the example fleet, as a first release locks them."""
    lock = tmp_path_factory.mktemp("lock") / "models.lock"
    with redirect_stdout(io.StringIO()) as out:
        assert 0 == main(lock)
    found = freeze.locked(lock)
    assert f"{len(found)} marts frozen; 0 were frozen before\n" == out.getvalue()
    return found


def copy_with(models: Path, example_warehouse: Path, *changes: tuple[str, str, str], **new: str) -> Path:
    """A copy of the example warehouse with some marts and all beneath them, changed, and new marts.

    Their files are put into `models`.
    """
    known = {model.name: model for model in project.read(MODELS)}
    wanted = [NAME, "marts.peak_memory_v1", "marts.fleet_summary_v1"]
    for name in wanted:
        wanted += [table for table in known[name].reads if table in known and table not in wanted]
        path = models / f"{name.replace('.', '/')}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(MODELS / path.relative_to(models), path)
    for name, before, after in changes:
        path = models / f"{name}.sql"
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))
    for name, sql in new.items():
        (models / "marts" / f"{name}.sql").write_text(sql)
    copy = shutil.copy(example_warehouse, models.parent / "changed.duckdb")
    with duckdb.connect(copy) as con:
        build.build(con, models)
    return Path(copy)


@pytest.fixture(scope="module")
def edited(example_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse whose models differ in what moves no result: comments and layout of `marts.peak_memory_v1`, another
    way to what `staging.allocation_sizes` says, another condition in `marts.footprint_v1` and its next version."""
    footprint = (MODELS / f"{MART}.sql").read_text().replace("-- Constants.", "-- Constants, all of them.")
    return copy_with(
        tmp_path_factory.mktemp("edited") / "models",
        example_warehouse,
        ("marts/peak_memory_v1", "    r.dump_id,  -- The dump.\n", "\n    r.dump_id,  -- Whose peak it is.\n\n"),
        ("staging/allocation_sizes", "WHEN is_constant THEN", "WHEN is_constant = TRUE THEN"),
        (MART, "kind = 'constant'", "kind IN ('constant', 'literal')"),
        footprint_v2=footprint.replace("AS increment_bytes", "AS call_bytes"),
    )


@pytest.fixture(scope="module")
def now(edited: Path) -> dict:
    """The fingerprints of the marts of that warehouse."""
    with duckdb.connect(str(edited), read_only=True) as con:
        return freeze.fingerprints(con, edited.with_name("models"))


def of_those(now: dict, released: dict) -> dict:
    """What was released of the marts that are there now."""
    return {name: prints for name, prints in released.items() if name in now}


def test_models_as_released_break_nothing(released, example_warehouse):
    """The same SQL over the same fleet has the same fingerprints, every mart of them, in a file as in memory, and
    wherever its reader is: moments are compared in UTC."""
    assert {model.name for model in project.read() if model.layer == "marts"} == released.keys()
    with duckdb.connect(str(example_warehouse), read_only=True) as con:
        con.execute("SET TimeZone = 'Asia/Tokyo'")
        now = freeze.fingerprints(con)
    assert released == now
    assert [] == freeze.broken(now, released)


@pytest.mark.soak
def test_results_do_not_hang_on_how_the_fleet_was_loaded(released, fleet, tmp_path):
    """Run by run, the last first, each file a batch of its own: other numbers of runs, loads and
    shapes, and other rows beneath, but the same results."""
    path = tmp_path / "otherwise.duckdb"
    for run in sorted((run for run in fleet.iterdir() if run.is_dir()), reverse=True):
        if run.name == "jaxlib-0.8.0":
            for dump in sorted(run.glob("*-buffer-assignment.txt"), reverse=True):
                assert 0 == run_ingest([str(run)], path, include=[dump.name]).exit_code
        assert 0 == run_ingest([str(run)], path).exit_code
    with duckdb.connect(str(path)) as con:
        assert 20 < con.execute("SELECT COUNT(*) FROM raw.loads").fetchone()[0]
        assert released == freeze.fingerprints(con)


def test_a_comment_or_another_way_to_the_same_result_is_no_change(released, now):
    """What people read may be put better, and what lies beneath a mart computed in another way."""
    for name in ("marts.peak_memory_v1", "marts.fleet_summary_v1"):
        assert released[name] == now[name]


def test_an_edited_mart_is_told_to_become_the_next_version(released, now):
    """Also where the result over the fleet stays what it was."""
    assert released[NAME]["result"] == now[NAME]["result"]
    assert ["marts.footprint_v1 is frozen and its SQL changed; write marts.footprint_v2 beside it"] == freeze.broken(
        now, of_those(now, released)
    )


def test_a_new_version_leaves_the_old_one_untouched(released, now, edited):
    """The pointer moves to it; what is frozen still is what it was."""
    assert {*of_those(now, released), "marts.footprint_v2"} == now.keys()
    assert released[NAME]["result"] == now[NAME]["result"]
    with duckdb.connect(str(edited), read_only=True) as con:
        columns = [row[0] for row in con.execute("DESCRIBE marts.footprint").fetchall()]
        old = [row[0] for row in con.execute("DESCRIBE marts.footprint_v1").fetchall()]
    assert ("call_bytes", "increment_bytes") == (columns[-1], old[-1])


def test_a_model_beneath_a_mart_that_moves_its_result_is_found(released, example_warehouse, tmp_path):
    """The mart's own SQL is what it was, what it says of the fleet is not; a mart beside it is what it was."""
    models = tmp_path / "models"
    path = copy_with(models, example_warehouse, ("staging/allocation_sizes", "THEN 'constant'", "THEN 'temp'"))
    with duckdb.connect(str(path), read_only=True) as con:
        now = freeze.fingerprints(con, models)
    assert released[NAME]["sql"] == now[NAME]["sql"]
    assert [
        "marts.footprint_v1 is frozen and its result over examples/fleet changed; something beneath it did: "
        "undo that, or write marts.footprint_v2"
    ] == freeze.broken(now, of_those(now, released))


def test_a_frozen_mart_that_is_gone_is_missed(released):
    """Retiring one is a decision, not a deletion."""
    now = {name: prints for name, prints in released.items() if name != NAME}
    assert ["marts.footprint_v1 is frozen and gone; retire it in docs/decisions first"] == freeze.broken(now, released)


def test_the_tenth_version_follows_the_ninth():
    """Versions are numbers."""
    was = {"marts.x_v9": {"sql": "a", "result": "b"}}
    now = {"marts.x_v9": {"sql": "c", "result": "b"}}
    assert ["marts.x_v9 is frozen and its SQL changed; write marts.x_v10 beside it"] == freeze.broken(now, was)


def test_without_a_lock_file_nothing_is_frozen(tmp_path):
    """A checkout before the first release has none."""
    assert {} == freeze.locked(tmp_path / "models.lock")


def test_what_is_committed_as_frozen_is_unchanged(released):
    """The marts of this checkout are those of the lock file, where a release has made one."""
    assert [] == freeze.broken(released, freeze.locked())


def test_a_release_adds_what_is_new_and_changes_nothing(released, tmp_path, capsys):
    """The first release locks every mart; a later one keeps their lines, and refuses when one has changed."""
    lock = tmp_path / "models.lock"
    older = dict(list(released.items())[3:])
    assert 0 == release(older, lock)
    assert older == json.loads(lock.read_text())
    capsys.readouterr()
    assert 0 == release(released, lock)
    assert f"3 marts frozen; {len(older)} were frozen before\n" == capsys.readouterr().out
    first = lock.read_text()
    assert released == json.loads(first)
    assert 0 == release(released, lock)
    assert f"0 marts frozen; {len(released)} were frozen before\n" == capsys.readouterr().out
    lock.write_text(first.replace(released[NAME]["sql"], "0" * 64))
    was = lock.read_text()
    assert 1 == release(released, lock)
    assert (
        "marts.footprint_v1 is frozen and its SQL changed; write marts.footprint_v2 beside it\n"
        == capsys.readouterr().err
    )
    assert was == lock.read_text()
