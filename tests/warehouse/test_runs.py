"""What is known about a run, and how it changes: by hand, and by a run.json that knows more."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.warehouse.open import writing
from bufferhouse.warehouse.runs import PINNED, pin, set_facts
from tests.command_line import call
from tests.ingests import ingest, write_dumps
from tests.synthetic import Slot, dump_text
from tests.warehouses import contents, counts, rows


def described(directory: Path, **facts) -> None:
    """Write the run.json of a directory."""
    (directory / "run.json").write_text(json.dumps(facts))


def facts_of(warehouse: Path, *columns: str) -> tuple:
    [row] = rows(warehouse, f"SELECT {', '.join(columns)} FROM raw.runs")
    return row


def write_nightly(directory: Path) -> Path:
    """Write the files of a run, which are of 2020, and nothing else into a directory."""
    shutil.rmtree(directory, ignore_errors=True)
    for path in write_dumps(directory, [1, 2]):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    return directory


@pytest.fixture(scope="module")
def nightly(blank_warehouse, tmp_path_factory) -> Path:
    """A folder with a run and a warehouse in which it is, and of which nothing is known but its files."""
    folder = tmp_path_factory.mktemp("runs")
    ingest(shutil.copy(blank_warehouse, folder / "w.duckdb"), write_nightly(folder / "nightly"))
    return folder


@pytest.fixture
def run(nightly) -> Path:
    """The directory of that run."""
    return write_nightly(nightly / "nightly")


@pytest.fixture
def warehouse(nightly, tmp_path) -> Path:
    """A copy of that warehouse."""
    return Path(shutil.copy(nightly / "w.duckdb", tmp_path / "warehouse.duckdb"))


MOMENT = "started_at::VARCHAR"


def test_a_run_json_that_comes_later_completes_the_run(warehouse, run):
    """Though no dump is new: facts and labels that were missing, and a better moment than that of the files."""
    assert ("2020-09-13 12:26:40+00", "file time", None, "{}") == facts_of(
        warehouse, MOMENT, "started_at_source", "platform", "labels"
    )
    described(run, started_at="2026-01-02T03:04:05Z", platform="cpu", device_count=8, labels={"team": "a"})
    code, summary = ingest(warehouse, run)
    assert (0, 0, 2) == (code, summary["new"], summary["known"])
    assert ("2026-01-02 03:04:05+00", "run.json", "cpu", 8, '{"team": "a"}') == facts_of(
        warehouse, MOMENT, "started_at_source", "platform", "device_count", "labels"
    )
    before = contents(warehouse)
    ingest(warehouse, run)
    assert before == contents(warehouse)


def test_a_label_of_the_call_completes_the_run(warehouse, run):
    """--label names columns as well as labels, and the moment."""
    ingest(warehouse, run, "--label", "track=fast", "--label", "owner=me", "--label", "started_at=2026-02-03")
    assert ("fast", '{"owner": "me"}', "2026-02-03 00:00:00+00", "given") == facts_of(
        warehouse, "track", "labels", MOMENT, "started_at_source"
    )


def test_what_is_there_stays(warehouse, run):
    """A fact, a label and a moment that somebody set are not overwritten by a run.json that says otherwise."""
    call("runs", "set", "nightly", "platform=tpu", "label.team=b", "started_at=2026-05-05", "--warehouse", warehouse)
    described(run, started_at="2026-01-01", platform="cpu", compiler="jaxlib", labels={"team": "a", "more": "x"})
    ingest(warehouse, run)
    assert ("tpu", "jaxlib", '{"more": "x", "team": "b"}', "2026-05-05 00:00:00+00", "given") == facts_of(
        warehouse, "platform", "compiler", "labels", MOMENT, "started_at_source"
    )


def test_what_stays_though_it_is_said_otherwise_is_told(warehouse, run):
    """Of a call and of a run.json, with the command that changes it; then nothing is told any more."""
    described(run, compiler_version="0.6.0", labels={"team": "a", "completed_at": "2026-01-01"})
    assert "stay as they are" not in call("ingest", run, "--warehouse", warehouse).out
    described(run, compiler_version="0.6.1", labels={"team": "a", "completed_at": "2026-01-02"})
    words = ["ingest", run, "--label", "team=b c"]
    command = "runs set nightly compiler_version=0.6.1 'label.team=b c'"
    for more in (["--plan"], []):
        out = call(*words, *more, "--warehouse", warehouse).out
        assert "run nightly: known facts and labels stay as they are, though the run.json or this" in out
        assert f", or change the facts: bufferhouse {command}\n" in out
    code, summary = ingest(warehouse, *words[1:])
    assert (0, {"nightly": {"compiler_version": "0.6.1", "label.team": "b c"}}) == (code, summary["other_facts"])
    assert 0 == call(*shlex.split(command), "--warehouse", warehouse).code
    assert "other_facts" not in ingest(warehouse, *words[1:])[1]


def test_a_run_json_that_comes_later_makes_no_second_run(warehouse, run):
    """The run keeps its name, and what to type is said; a name that was given on the call is another run."""
    described(run, run_name="release")
    outcome = call("ingest", run, "--warehouse", warehouse)
    assert "runs: nightly" in outcome.out
    assert "run nightly: its run.json or its path now calls it release; it keeps its name" in outcome.out
    assert "bufferhouse runs rename nightly release" in outcome.out
    assert [("nightly",)] == rows(warehouse, "SELECT run_name FROM raw.runs")
    told = call("runs", "rename", "nightly", "release", "--warehouse", warehouse)
    assert (0, "run nightly is now release\n") == (told.code, told.out)
    assert "now calls it" not in call("ingest", run, "--warehouse", warehouse).out


def test_older_files_that_come_later_date_the_run(warehouse, run):
    """A run began with its oldest file, whenever that is ingested; younger ones change nothing."""
    for number, second in ((3, 1_500_000_000), (4, 1_700_000_000)):
        [path] = write_dumps(run, [number])
        os.utime(path, (second, second))
        ingest(warehouse, run)
        assert ("2017-07-14 02:40:00+00", "file time") == facts_of(warehouse, MOMENT, "started_at_source")


def test_a_corrected_run_json_corrects_its_moment(warehouse, run):
    """What a run.json said about the moment, a newer one may say better; weaker sources do not take it away."""
    for moment in ("2026-01-01", "2026-01-02"):
        described(run, started_at=moment)
        ingest(warehouse, run)
        assert (f"{moment} 00:00:00+00", "run.json") == facts_of(warehouse, MOMENT, "started_at_source")
    (run / "run.json").unlink()
    ingest(warehouse, run)
    assert ("2026-01-02 00:00:00+00", "run.json") == facts_of(warehouse, MOMENT, "started_at_source")


def test_a_plan_changes_nothing(warehouse, run):
    """Nor is a warehouse made that is not there."""
    described(run, platform="cpu")
    before = contents(warehouse)
    ingest(warehouse, run, "--plan")
    assert before == contents(warehouse)
    code, summary = ingest(warehouse.with_name("none.duckdb"), run, "--plan")
    assert (0, 2) == (code, summary["new"])
    assert not warehouse.with_name("none.duckdb").exists()


# By hand


def test_set_writes_columns_and_labels(warehouse, run):
    """Columns by name, labels by `label.NAME`; an empty value removes. What was set is told, and of which run."""
    words = [
        "platform=gpu",
        "device_memory_bytes=85899345920",
        "started_at=2026-01-01T10:00:00+01:00",
        "label.shift=night",
    ]
    told = call("runs", "set", "latest", *words, "--warehouse", warehouse)
    assert (0, f"run nightly: {', '.join(words)}\n") == (told.code, told.out)
    columns = ("platform", "device_memory_bytes", MOMENT, "started_at_source", "labels")
    expected = ("gpu", 85899345920, "2026-01-01 09:00:00+00", "given", '{"shift": "night"}')
    assert expected == facts_of(warehouse, *columns)
    told = call("runs", "set", "nightly", "platform=", "label.shift=", "--warehouse", warehouse)
    assert (0, "run nightly: platform removed, label.shift removed\n") == (told.code, told.out)
    assert (None, "{}") == facts_of(warehouse, "platform", "labels")


def test_a_wrong_set_changes_nothing(warehouse, run):
    """Exit 2, what was expected, and the way out."""
    before = contents(warehouse)
    for words, message in (
        (["nihgtly", "platform=gpu"], "did you mean 'nightly'?"),
        (["nightly", "platform"], "expected K=V"),
        (["nightly", "=gpu"], "expected K=V"),
    ):
        outcome = call("runs", "set", *words, "--warehouse", warehouse)
        assert (2, "") == (outcome.code, outcome.out)
        assert message in outcome.err
    with writing(warehouse) as writer:
        for fact, message in (
            ("device_count=many", "device_count: expected a whole number from 0 to 2^63 - 1, found 'many'"),
            ("device_count=-5", "device_count: expected a whole number from 0 to 2^63 - 1, found '-5'"),
            ("device_count=²", "device_count: expected a whole number"),
            ("device_memory_bytes=0", "device_memory_bytes: expected a number above 0, found 0; leave it out"),
            (f"device_count={2**63}", "device_count: expected a whole number"),
            ("started_at=soon", "expected started_at as ISO 8601"),
            ("started_at=", "started_at cannot be removed"),
            ("run_name=x", "run_name cannot be set; bufferhouse runs rename changes the name"),
            ("run_id=3", "run_id cannot be set; the warehouse numbers its runs"),
            ("labels={}", "labels cannot be set; set each of them as label.NAME=VALUE"),
            ("label.=night", "label.: expected the name of a label behind it, such as label.team=night"),
            ("platfrom=tpu", "'platfrom' is no fact of a run; did you mean 'platform'?"),
            ("shift=night", "for a label of your own: label.shift=night"),
        ):
            name, _, value = fact.partition("=")
            with pytest.raises(UsageError, match=re.escape(message)):
                set_facts(writer, "nightly", {name: value})
    assert before == contents(warehouse)


def test_a_word_that_is_no_text_changes_nothing(warehouse, run):
    """A byte that is no UTF-8 in a label or a name is told with the word; in JSON DuckDB could read no label then."""
    odd = os.fsdecode(b"\xff")
    for words in (
        ["runs", "set", "nightly", f"label.a={odd}"],
        ["runs", "set", "nightly", f"label.{odd}=a"],
        ["runs", "rename", "nightly", odd],
        ["ingest", run, "--label", f"a={odd}"],
        ["ingest", run, "--run", odd],
    ):
        outcome = call(*words, "--warehouse", warehouse)
        assert (2, True) == (outcome.code, "expected words in UTF-8, found" in outcome.err), outcome.err
        assert "SELECT" not in outcome.err
    assert 2 == call("runs", "set", "nightly", "label.=a", "--warehouse", warehouse).code
    assert ("{}",) == facts_of(warehouse, "labels")


def test_what_words_mean_is_told_before_a_label_is_set(warehouse):
    """A word may ask for the label that the word before it takes away."""
    with writing(warehouse) as opened:
        pin(opened, ["nightly"])
        words = ["nightly", f"latest:{PINNED}=yes"]
        assert ["nightly", "nightly"] == pin(opened, words, is_pinned=False)
    assert ("{}",) == facts_of(warehouse, "labels")


def test_rename(warehouse, run):
    """The name changes and nothing else; a name that is taken, empty, unknown or means another run is refused."""
    assert 0 == call("runs", "rename", "nightly", "weekly", "--warehouse", warehouse).code
    assert [("weekly", 2)] == rows(
        warehouse, "SELECT run_name, COUNT(*) FROM raw.runs JOIN raw.observations USING (run_id) GROUP BY ALL"
    )
    for words in (
        ["nightly", "x"],
        ["weekly", "weekly"],
        ["weekly", ""],
        ["weekly", "latest"],
        ["weekly", "previous:a=b"],
    ):
        assert 2 == call("runs", "rename", *words, "--warehouse", warehouse).code
    assert 2 == call("ingest", run, "--run", "latest", "--warehouse", warehouse).code


def test_a_renamed_run_is_known_under_its_new_name(warehouse, run):
    """Its directory, ingested again, is the same run: only what is new there is new."""
    call("runs", "rename", "nightly", "weekly", "--warehouse", warehouse)
    write_dumps(run, [3])
    code, summary = ingest(warehouse, run)
    assert (0, 1, 2, ["weekly"]) == (code, summary["new"], summary["known"], summary["runs"])
    assert 1 == counts(warehouse)["runs"]


def test_other_files_at_the_place_of_a_run_are_another_run(warehouse, run):
    """A directory that a job uses again, without a file of the job before it, is called by its own name."""
    call("runs", "rename", "nightly", "weekly", "--warehouse", warehouse)
    for path in run.iterdir():
        path.unlink()
    write_dumps(run, [3, 4])
    code, summary = ingest(warehouse, run)
    assert (0, 2, ["nightly"]) == (code, summary["new"], summary["runs"])
    assert 2 == counts(warehouse)["runs"]


def test_rm(warehouse, run):
    """The run goes, with what only it has seen; a run that is not there changes nothing."""
    assert 2 == call("runs", "rm", "--yes", "nightly", "gone", "--warehouse", warehouse).code
    assert 2 == counts(warehouse)["dumps"]
    outcome = call("runs", "rm", "--yes", "nightly", "--warehouse", warehouse)
    assert (0, "1 run, 2 observations and 2 dumps removed\n") == (outcome.code, outcome.out)
    assert {"loads": 1} == {table: count for table, count in counts(warehouse).items() if count}
    code, summary = ingest(warehouse, run)
    assert (0, 2) == (code, summary["new"])


def test_ls_is_ordered_by_time(example_warehouse):
    """The oldest run first, with how many dumps and contents it has."""
    found = json.loads(call("runs", "ls", "--format", "json", "--warehouse", example_warehouse).out)
    assert 11 == len(found)
    assert sorted(row["started_at"] for row in found) == [row["started_at"] for row in found]
    assert {"run_name": "seeds", "dumps": 5, "contents": 5}.items() <= next(
        row for row in found if row["run_name"] == "seeds"
    ).items()


def test_ls_counts_what_was_refused(warehouse, tmp_path):
    """Beside the dumps that were loaded: one of two is otherwise a run of one."""
    for name, damaged in {"whole": 0, "half": 1, "none": 2}.items():
        for path in write_dumps(tmp_path / name, [1, 2])[:damaged]:
            path.write_text(f"damaged {path}")
    ingest(warehouse, tmp_path)
    found = json.loads(call("runs", "ls", "--format", "json", "--warehouse", warehouse).out)
    expected = {"whole": (2, 0), "half": (1, 1), "none": (0, 2)}
    assert expected.items() <= {row["run_name"]: (row["dumps"], row["refused"]) for row in found}.items()


def test_programs_of_one_name_and_size_stand_in_the_order_of_their_ids(tmp_path):
    """Nothing else tells them apart, and the same warehouse is listed in the same way each time."""
    warehouse = tmp_path / "own.duckdb"
    for number in range(1, 9):
        shape = f"u8[{number}]"
        header = f", parameter 0, shape |{shape}| at ShapeIndex {{}}"
        text = dump_text([Slot(0, 2, 0, 64, shape=f"{shape}{{0}}")], [header])
        (tmp_path / f"module_{number:04}.jit_f.cpu_after_optimizations-buffer-assignment.txt").write_bytes(text)
    assert 0 == call("ingest", tmp_path, "--warehouse", warehouse).code
    listed = json.loads(call("programs", "--warehouse", warehouse, "--format", "json").out)
    ids = [program["program_id"] for program in listed]
    assert (8, sorted(ids)) == (len(set(ids)), ids)
