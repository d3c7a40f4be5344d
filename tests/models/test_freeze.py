"""Frozen marts: what is released neither changes its SQL nor its result; a new version leaves the old one alone."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.commands.freeze import main
from bufferhouse.commands.ingest_run import run_ingest
from bufferhouse.ingest.in_memory import in_memory
from bufferhouse.models import build, freeze, project
from bufferhouse.paths import MODELS

MART = "marts/footprint_v1"
NAME = "marts.footprint_v1"


@pytest.fixture(scope="module")
def released(example_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The fingerprints of every mart over the example fleet, as a lock file keeps them."""
    copy = shutil.copy(example_warehouse, tmp_path_factory.mktemp("released") / "released.duckdb")
    with duckdb.connect(copy) as con:
        con.execute("SET TimeZone = 'UTC'")
        lock = tmp_path_factory.mktemp("lock") / "models.lock"
        lock.write_text(json.dumps(freeze.fingerprints(con)))
    return freeze.locked(lock)


@pytest.fixture
def changed(own_warehouse: Path, tmp_path: Path):
    """A function that changes the models in a copy and gives the fingerprints of the marts that come of it."""

    def fingerprints(*changes: tuple[str, str, str], **new: str) -> dict:
        directory = tmp_path / "models"
        shutil.copytree(MODELS, directory)
        for name, before, after in changes:
            path = directory / f"{name}.sql"
            assert before in path.read_text()
            path.write_text(path.read_text().replace(before, after))
        for name, sql in new.items():
            (directory / "marts" / f"{name}.sql").write_text(sql)
        with duckdb.connect(str(own_warehouse)) as con:
            con.execute("SET TimeZone = 'UTC'")
            build.build(con, directory)
            return freeze.fingerprints(con, directory)

    return fingerprints


def test_models_as_released_break_nothing(released):
    """The same SQL over the same fleet has the same fingerprints, every mart of them, in memory as in a file."""
    assert {model.name for model in project.read() if model.layer == "marts"} == released.keys()
    with in_memory([str(freeze.FLEET)]) as con:
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


def test_the_time_zone_of_a_reader_is_no_change(released, own_warehouse):
    """Moments are compared in UTC."""
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute("SET TimeZone = 'Asia/Tokyo'")
        assert released == freeze.fingerprints(con)


def test_a_comment_or_another_way_to_the_same_result_is_no_change(released, changed):
    """What people read may be put better, and what lies beneath a mart computed in another way."""
    now = changed(
        (MART, "-- Constants.", "-- What is known at compile time."),
        (MART, "    dump_id,  -- The dump.\n    memory_space,", "\n    dump_id,  -- The dump.\n\n    memory_space,"),
        ("staging/allocations", "WHEN a.is_constant THEN", "WHEN a.is_constant = TRUE THEN"),
    )
    assert released == now


def test_an_edited_mart_is_told_to_become_the_next_version(released, changed):
    """Also where the result over the fleet stays what it was."""
    now = changed((MART, "kind = 'constant'", "kind IN ('constant', 'literal')"))
    assert released[NAME]["result"] == now[NAME]["result"]
    assert ["marts.footprint_v1 is frozen and its SQL changed; write marts.footprint_v2 beside it"] == freeze.broken(
        now, released
    )


def test_a_model_beneath_a_mart_that_moves_its_result_is_found(released, changed):
    """The mart's own SQL is what it was, what it says of the fleet is not."""
    now = changed(("staging/allocations", "THEN 'constant'", "THEN 'temp'"))
    assert released[NAME]["sql"] == now[NAME]["sql"]
    sentences = freeze.broken(now, released)
    assert (
        "marts.footprint_v1 is frozen and its result over examples/fleet changed; something beneath it did: "
        "undo that, or write marts.footprint_v2"
    ) in sentences
    assert not any("fleet_summary" in sentence or "SQL changed" in sentence for sentence in sentences)


def test_a_new_version_leaves_the_old_one_untouched(released, changed, own_warehouse):
    """The pointer moves to it; what is frozen still is what it was."""
    sql = (MODELS / f"{MART}.sql").read_text().replace("-- Constants.", "-- Constants, all of them.")
    now = changed(footprint_v2=sql.replace("AS increment_bytes", "AS call_bytes"))
    assert [] == freeze.broken(now, released)
    assert {*released, "marts.footprint_v2"} == now.keys()
    with duckdb.connect(str(own_warehouse)) as con:
        columns = [row[0] for row in con.execute("DESCRIBE marts.footprint").fetchall()]
        old = [row[0] for row in con.execute("DESCRIBE marts.footprint_v1").fetchall()]
    assert ("call_bytes", "increment_bytes") == (columns[-1], old[-1])


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
    assert 0 == main(lock)
    assert f"{len(released)} marts frozen; 0 were frozen before\n" == capsys.readouterr().out
    first = lock.read_text()
    assert released == json.loads(first)
    assert 0 == main(lock)
    assert f"0 marts frozen; {len(released)} were frozen before\n" == capsys.readouterr().out
    lock.write_text(first.replace(released[NAME]["sql"], "0" * 64))
    was = lock.read_text()
    assert 1 == main(lock)
    assert (
        "marts.footprint_v1 is frozen and its SQL changed; write marts.footprint_v2 beside it\n"
        == capsys.readouterr().err
    )
    assert was == lock.read_text()
