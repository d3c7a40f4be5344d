"""Forgetting old runs, giving space back, saying what is there."""

import json
import os
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from bufferhouse.warehouse.file import BLOCK_SIZE
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.retention import runs_to_prune
from tests.command_line import call, start
from tests.ingests import SUFFIX, ingest, name_of, write_dumps
from tests.synthetic import small_dump
from tests.warehouses import asked, contents, counts, rows

INCREMENTAL = "SELECT model_name FROM meta.models WHERE is_incremental"


@pytest.fixture(scope="module")
def three(blank_warehouse, tmp_path_factory) -> Path:
    """A folder with runs of three days that share one content, one with a reject besides, and a warehouse of them."""
    directory = tmp_path_factory.mktemp("three")
    for day, numbers in enumerate(([0, 1], [0, 2, 3], [0, 4]), 1):
        run = directory / f"day_{day}"
        write_dumps(run, numbers)
        (run / "run.json").write_text(json.dumps({"started_at": f"2026-01-0{day}T00:00:00Z"}))
    (directory / "day_1" / f"bad{SUFFIX}").write_bytes(b"BufferAssignment:\nnonsense\n")
    path = shutil.copy(blank_warehouse, tmp_path_factory.mktemp("of-three") / "w.duckdb")
    ingest(path, directory)
    shutil.move(path, directory)
    return directory


@pytest.fixture
def three_runs(three, tmp_path) -> Path:
    """A copy of that warehouse."""
    return Path(shutil.copy(three / "w.duckdb", tmp_path / "warehouse.duckdb"))


def runs_of(warehouse: Path) -> list[str]:
    return [name for (name,) in rows(warehouse, "SELECT run_name FROM raw.runs ORDER BY run_name")]


def test_keep_runs_forgets_the_oldest_and_what_only_they_saw(three_runs):
    """Runs, their observations and rejects go, then contents that nobody sees any more, in every table they are in."""
    before = runs_of(three_runs)
    outcome = call("prune", "--keep-runs", 2, "--yes", "--warehouse", three_runs)
    assert (0, ["day_1", "day_2", "day_3"], ["day_2", "day_3"]) == (outcome.code, before, runs_of(three_runs))
    assert "removed run day_1\n1 run, 2 observations, 1 dump and 1 reject removed" in outcome.out
    tables = counts(three_runs)
    assert (4, 5, 0, 3) == (tables["dumps"], tables["observations"], tables["rejects"], tables["loads"] + 2)
    names = [name for (name,) in rows(three_runs, INCREMENTAL)] + [
        "raw.hlo_values",
        "raw.live_ranges",
        "raw.dump_files",
    ]
    with asked(three_runs) as con:
        for name in names:
            assert [(4,)] == con.execute(f"SELECT COUNT(DISTINCT dump_id) FROM {name}").fetchall(), name
    assert 0 == call("verify", "--warehouse", three_runs).code
    assert 0 == call("check", "--warehouse", three_runs).code


def test_runs_whose_dumps_were_all_refused_push_no_good_run_out(warehouse, tmp_path):
    """They are counted apart: a week of a dialect that is not read yet does not cost the weeks before."""
    for day in range(1, 6):
        run = tmp_path / f"day_{day}"
        [path] = write_dumps(run, [day])
        if day > 2:
            path.write_bytes(b"BufferAssignment:\nnonsense\n")
        (run / "run.json").write_text(json.dumps({"started_at": f"2026-01-0{day}T00:00:00Z", "platform": "cpu"}))
    ingest(warehouse, tmp_path)
    with asked(warehouse) as con:
        assert ["day_3"] == [name for _, name in runs_to_prune(con, keep_runs=2)]
        assert ["day_4", "day_3", "day_1"] == [name for _, name in runs_to_prune(con, keep_runs=1)]


def test_nothing_is_removed_before_somebody_agreed(three_runs):
    """Without a terminal and without --yes a removal is refused; --plan shows what would go, and nothing goes.

    Bytes that a reject keeps are often nowhere else any more: it is counted, too.
    """
    for words in (["prune", "--keep-runs", 1], ["runs", "rm", "day_1"]):
        refused = call(*words, "--warehouse", three_runs)
        assert (2, "") == (refused.code, refused.out)
        assert "expected --yes" in refused.err
        plan = call(*words, "--plan", "--warehouse", three_runs)
        assert (0, True) == (plan.code, "would remove run day_1\n" in plan.out)
    assert plan.out.endswith("1 run, 2 observations, 1 dump and 1 reject would be removed\n")
    assert ["day_1", "day_2", "day_3"] == runs_of(three_runs)
    assert (
        "1 run, 2 observations, 1 dump and 1 reject removed\n"
        == call("runs", "rm", "day_1", "--yes", "--warehouse", three_runs).out
    )


@pytest.mark.parametrize(("answer", "left"), [("y", ["day_2", "day_3"]), ("n", ["day_1", "day_2", "day_3"])])
def test_on_a_terminal_a_removal_asks(three_runs, answer, left):
    """It says what would go, and only yes removes it."""
    ours, theirs = os.openpty()
    process = start("runs", "rm", "day_1", "--warehouse", three_runs, stdin=theirs, stderr=theirs)
    os.write(ours, f"{answer}\n".encode())
    out, _ = process.communicate(timeout=60)
    asked = os.read(ours, 4096).decode()
    os.close(ours)
    os.close(theirs)
    assert (0, "would remove run day_1") == (process.returncode, out.splitlines()[0])
    assert "1 run, 2 observations, 1 dump and 1 reject are to be removed. Remove them?" in asked
    assert left == runs_of(three_runs)


def test_without_a_question_no_run_is_removed_by_the_beginning_of_its_name(three_runs):
    """A script that removes day_1 a second time does not remove day_10; by its place a run is meant as well."""
    assert 0 == call("runs", "rename", "day_3", "day_10", "--warehouse", three_runs).code
    assert 0 == call("runs", "rm", "day_1", "--yes", "--warehouse", three_runs).code
    refused = call("runs", "rm", "day_2", "day_1", "--yes", "--warehouse", three_runs)
    assert (2, True) == (refused.code, "'day_1', the beginning of 'day_10'" in refused.err)
    assert ["day_10", "day_2"] == runs_of(three_runs)
    assert 0 == call("runs", "rm", "day_1", "--plan", "--warehouse", three_runs).code
    assert 0 == call("runs", "rm", "latest", "--yes", "--warehouse", three_runs).code
    assert ["day_2"] == runs_of(three_runs)


def test_a_run_that_came_after_the_question_stays(three_runs, tmp_path):
    """Somebody else removed the run that was asked about, and the next one has its number."""
    ours, theirs = os.openpty()
    process = start("runs", "rm", "day_3", "--warehouse", three_runs, stdin=theirs, stderr=theirs)
    assert b"Remove them?" in os.read(ours, 4096)
    assert 0 == call("runs", "rm", "day_3", "--yes", "--warehouse", three_runs).code
    write_dumps(tmp_path / "day_4", [4])
    ingest(three_runs, tmp_path / "day_4")
    os.write(ours, b"y\n")
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert "0 runs, 0 observations and 0 dumps removed" == out.splitlines()[-1]
    assert ["day_1", "day_2", "day_4"] == runs_of(three_runs)


def test_the_runs_of_one_platform_do_not_push_out_those_of_another(warehouse, tmp_path):
    """--keep-runs counts per platform and track; baselines and pinned runs stay, until they are let go."""
    for number, (name, facts) in enumerate(
        {
            "a1": {"platform": "cpu", "track": "nightly", "labels": {"baseline": "yes"}},
            "a2": {"platform": "cpu", "track": "nightly"}, "a3": {"platform": "cpu", "track": "nightly"},
            "b1": {"platform": "tpu", "track": "nightly"}, "c1": {"platform": "cpu", "track": "release"},
            "c2": {"platform": "cpu", "track": "release"},
        }.items(), 1
    ):  # fmt: skip
        write_dumps(tmp_path / "all" / name, [number])
        facts["started_at"] = f"2026-01-0{number}"
        (tmp_path / "all" / name / "run.json").write_text(json.dumps(facts))
    ingest(warehouse, tmp_path / "all")
    assert "c1 is pinned\n" == call("runs", "pin", "c1", "--warehouse", warehouse).out
    plan = call("prune", "--keep-runs", 1, "--plan", "--warehouse", warehouse).out
    assert "keeping run a1: label baseline\nkeeping run c1: label pinned\nwould remove run a2\n" in plan
    assert 0 == call("prune", "--keep-runs", 1, "--yes", "--warehouse", warehouse).code
    assert ["a1", "a3", "b1", "c1", "c2"] == runs_of(warehouse)
    assert 0 == call("runs", "pin", "c1", "--off", "--warehouse", warehouse).code
    assert 0 == call("prune", "--keep-runs", 1, "--yes", "--warehouse", warehouse).code
    assert ["a1", "a3", "b1", "c2"] == runs_of(warehouse)


def test_the_runs_of_one_device_do_not_push_out_those_of_another(warehouse, tmp_path):
    """They share no history: of each the newest runs stay, which the flow of regressions compares."""
    for day, device in enumerate(("v5p", "v5p", "v5e", "v5e", "v5e"), 1):
        folder = tmp_path / "all" / f"{device}_{day}"
        write_dumps(folder, [day])
        facts = {"track": "nightly", "device_kind": device, "started_at": f"2026-01-0{day}"}
        (folder / "run.json").write_text(json.dumps(facts))
    ingest(warehouse, tmp_path / "all")
    assert 0 == call("prune", "--keep-runs", 2, "--yes", "--warehouse", warehouse).code
    assert ["v5e_4", "v5e_5", "v5p_1", "v5p_2"] == runs_of(warehouse)


def test_what_is_left_is_what_only_the_others_would_have_loaded(three_runs, three, tmp_path):
    """After a prune and a new look at the rest, every table is as if the old run had never been."""
    call("prune", "--keep-runs", 1, "--yes", "--warehouse", three_runs)
    other = tmp_path / "other.duckdb"
    ingest(other, three / "day_3")
    expected, found = contents(other), contents(three_runs)
    for table in expected.keys() - {"loads", "pruned_runs"}:
        assert expected[table] == found[table], table


def test_older_than_counts_days_from_now(warehouse, tmp_path):
    """A run is as old as its started_at says."""
    for name, days in (("old", 40), ("young", 5)):
        write_dumps(tmp_path / "all" / name, [days])
        moment = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        (tmp_path / "all" / name / "run.json").write_text(json.dumps({"started_at": moment}))
    ingest(warehouse, tmp_path / "all")
    plan = call("prune", "--older-than", "30d", "--plan", "--warehouse", warehouse)
    assert (0, "would remove run old\n1 run, 1 observation and 1 dump would be removed\n") == (plan.code, plan.out)
    assert ["old", "young"] == runs_of(warehouse)
    assert 0 == call("prune", "--older-than", 30, "--yes", "--warehouse", warehouse).code
    assert ["young"] == runs_of(warehouse)
    assert "0 runs removed\n" == call("prune", "--older-than", 30, "--yes", "--warehouse", warehouse).out


def test_ties_are_broken_by_the_name_as_people_count(warehouse, tmp_path):
    """run_10 is younger than run_9 when both began at the same moment."""
    for name in ("run_9", "run_10"):
        write_dumps(tmp_path / "all" / name, [1])
    ingest(warehouse, tmp_path / "all", "--label", "started_at=2026-01-01")
    with duckdb.connect(str(warehouse)) as con:
        assert ["run_9"] == [name for _, name in runs_to_prune(con, keep_runs=1)]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--keep-runs", "1", "--older-than", "1"],
        ["--keep-runs", "-1"],
        *(["--older-than", days] for days in ("soon", "-1", "nan", "inf", "1e12", "800000")),
    ],
    ids=["nothing", "both", "negative", "no number", "negative days", "nan", "inf", "too many", "before the year 1"],
)
def test_wrong_calls_of_prune(warehouse, words):
    """One limit, of 0 or more."""
    outcome = call("prune", *words, "--plan", "--warehouse", warehouse)
    assert (2, "", True) == (outcome.code, outcome.out, "expected" in outcome.err)


def test_compact_gives_space_back_and_changes_no_row(own_warehouse):
    """After a prune the file shrinks; rows, comments, models and what a load needs stay."""
    call("prune", "--keep-runs", 2, "--yes", "--warehouse", own_warehouse)
    before, size = contents(own_warehouse), own_warehouse.stat().st_size
    described = "SELECT schema_name, view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
    views = rows(own_warehouse, described)
    outcome = call("compact", "--warehouse", own_warehouse)
    assert (0, True) == (outcome.code, own_warehouse.stat().st_size < size)
    assert before == contents(own_warehouse)
    assert views == rows(own_warehouse, described)
    assert [] == [path for path in own_warehouse.parent.iterdir() if ".new" in path.name]
    assert call("build", "--warehouse", own_warehouse).out == ""
    assert 0 == call("verify", "--warehouse", own_warehouse).code


def test_compact_leaves_what_has_no_dump(own_warehouse):
    """Rows that a hand left over are for `verify` to tell, not for `compact` to lose."""
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute("DELETE FROM raw.dumps WHERE dump_id = (SELECT MIN(dump_id) FROM raw.hlo_values)")
    before = contents(own_warehouse)
    assert 0 == call("compact", "--warehouse", own_warehouse).code
    assert before == contents(own_warehouse)


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_compact_opens_the_file_to_nobody_else_and_closes_it_to_nobody(mode, warehouse):
    """What takes the place of a private file is private, and of one that a group writes the group writes it."""
    warehouse.chmod(mode)
    assert 0 == call("compact", "--warehouse", warehouse).code
    assert oct(mode) == oct(warehouse.stat().st_mode & 0o777)


def test_the_lock_is_held_over_a_compact(warehouse, tmp_path):
    """Loading goes on behind it on the same connection, into the new file, which is of the same make."""
    with writing(warehouse) as writer:
        writer.compact()
        writer.con.execute("INSERT INTO meta.settings VALUES ('later', 'yes')")
        assert (tmp_path / f"{warehouse.name}.lock").read_text().startswith("process ")
    assert [("yes",)] == rows(warehouse, "SELECT value FROM meta.settings WHERE name = 'later'")
    own = "WHERE database_name = current_database()"
    assert [(BLOCK_SIZE,)] == rows(warehouse, f"SELECT block_size FROM pragma_database_size() {own}")
    assert [("v1.5.0+",)] == rows(warehouse, f"SELECT tags['storage_version'] FROM duckdb_databases() {own}")


def test_what_a_killed_compact_left_behind_goes(warehouse):
    """A half-written copy of another process is removed by the next one."""
    left = warehouse.with_name(f".{warehouse.name}.123-1.new")
    for path in (left, Path(f"{left}.wal")):
        path.write_bytes(b"half of it")
    assert 0 == call("compact", "--warehouse", warehouse).code
    assert {warehouse.name, f"{warehouse.name}.lock"} == {path.name for path in warehouse.parent.iterdir()}


def test_a_name_with_a_quote(blank_warehouse, tmp_path):
    """The file may be called as it likes."""
    path = tmp_path / "it's.duckdb"
    path.write_bytes(blank_warehouse.read_bytes())
    assert 0 == call("compact", "--warehouse", path).code
    assert {"it's.duckdb", "it's.duckdb.lock"} == {found.name for found in tmp_path.iterdir()}


def test_stats_say_what_is_there(three_runs):
    """Rows and bytes per table, dumps per run, the share of repeats, rejects by rule and state."""
    outcome = call("stats", "--format", "json", "--warehouse", three_runs)
    found = json.loads(outcome.out)
    assert (0, 7, 5, {"day_1": 2, "day_2": 3, "day_3": 2}) == (
        outcome.code, found["observations"], found["dumps"], found["runs"],
    )  # fmt: skip
    assert round(2 / 7, 4) == found["repeat_share"]
    assert sum(len(small_dump(number)) for number in range(5)) == found["text_bytes"]
    assert [{"rule": "grammar", "state": "open", "count": 1}] == found["rejects"]
    expected = {f"raw.{table}": count for table, count in counts(three_runs).items()}
    assert expected == {name: row["rows"] for name, row in found["tables"].items() if name.startswith("raw.")}
    assert three_runs.stat().st_size == found["file_bytes"]
    assert all(
        row["bytes"] % BLOCK_SIZE == 0 and row["bytes"] <= found["file_bytes"] for row in found["tables"].values()
    )
    assert found["tables"]["raw.hlo_values"]["bytes"] > 0
    text = call("stats", "--warehouse", three_runs).out
    assert re.search(r"^table +rows +size$", text, re.MULTILINE)
    assert re.search(r"^raw\.hlo_values +[0-9]+ +64\.0 KiB$", text, re.MULTILINE)
    for part in ("7 dumps seen, 5 contents, 28.6% repeats", "raw.hlo_values", "day_2", "grammar"):
        assert part in text


def test_stats_of_nothing(warehouse):
    """An empty warehouse has no repeats."""
    found = json.loads(call("stats", "--format", "json", "--warehouse", warehouse).out)
    assert (0, 0.0, {}) == (found["observations"], found["repeat_share"], found["runs"])
    assert name_of(1) not in call("stats", "--warehouse", warehouse).out
