"""What is known about a run: from the call, from run.json, from names and times, in this order."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.sources.discover import discover
from bufferhouse.sources.naming import Named, check_pattern
from bufferhouse.sources.run import make_run, names_by_place, read_run_file
from tests.command_line import call
from tests.ingests import ingest
from tests.synthetic import small_dump
from tests.warehouses import rows

STAMPED = "1700000000123456.module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"
PLAIN = "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt"


def write_run(directory: Path, facts: dict | None, *names: str) -> Path:
    directory.mkdir(parents=True)
    for number, name in enumerate(names):
        (directory / name).write_bytes(small_dump(number))
        os.utime(directory / name, (1_600_000_000 + number,) * 2)
    if facts is not None:
        (directory / "run.json").write_text(json.dumps(facts))
    return directory


@pytest.mark.parametrize(
    ("roots", "names"),
    [
        (["/jobs/nightly"], ["nightly"]),
        (["/jobs/xla_dump"], ["jobs"]),
        (["/jobs/2026-01-01/HLO"], ["2026-01-01"]),
        (["/tmp"], ["tmp"]),
        (["/jobs/nightly.tar.zst!"], ["nightly"]),
        (["/jobs/all.zip!a/dump", "/jobs/all.zip!b/dump"], ["a", "b"]),
        (["/a/nightly", "/b/nightly", "/b/weekly"], ["a/nightly", "b/nightly", "weekly"]),
        (["/x/a/nightly/dump", "/y/a/nightly/dump"], ["x/a/nightly", "y/a/nightly"]),
        (["/f/1/profile/xla_dump", "/f/2/profile/xla_dump"], ["1", "2"]),
        (["/nightly", "/b/nightly"], ["nightly", "b/nightly"]),
        (["/jobs/xla.targets/n1.tar.gz!", "/jobs/jit.target.tgz!"], ["n1", "jit.target"]),
        (["/jobs/r.tar!", "/jobs/r.tar.gz!", "/jobs/r"], ["r.tar", "r.tar.gz", "r"]),
        (["/jobs/x", "/jobs/x/dump", "/jobs/y", "/jobs/y/dump"], ["x", "x/dump", "y", "y/dump"]),
        (["/tmp/dump", "/data/dump", "/dump"], ["tmp/dump", "data/dump", "dump"]),
    ],
)
def test_the_names_of_runs(roots, names):
    """Those of their directories, without parts that say nothing, and with the parents that tell them apart."""
    assert dict(zip(roots, names, strict=True)) == names_by_place(roots)


def test_a_name_that_is_taken_is_given_to_no_other_run():
    """One that was given stands; who is called like it takes a parent along, and where it has none its whole path."""
    assert {"/b/nightly": "b/nightly"} == names_by_place(["/b/nightly"], {"nightly"})
    assert {"/dumps": "/dumps"} == names_by_place(["/dumps"], {"dumps"})


@pytest.mark.parametrize("second", [1, 315_532_800, 4_102_444_800])
def test_a_time_of_which_no_dump_can_be_dates_no_run(tmp_path, warehouse, second):
    """As of a store of packages, of a zip that is always the same, and of a clock in the future.

    By these the run would be pruned as the oldest, or be the newest for ever.
    """
    run = write_run(tmp_path / "run", None, PLAIN)
    os.utime(run / PLAIN, (second, second))
    begun = datetime.now(UTC)
    assert "ahead" not in ingest(warehouse, run)[1]
    [(started_at, source)] = rows(warehouse, "SELECT started_at, started_at_source FROM raw.runs")
    assert ("ingest time", True) == (source, begun <= started_at <= datetime.now(UTC))


def test_dumps_beside_a_folder_of_dumps_are_two_runs(tmp_path, warehouse):
    """One is called by what says nothing about the other: nobody has to name them."""
    write_run(tmp_path / "job", None, PLAIN)
    write_run(tmp_path / "job" / "dump", None, PLAIN, "other-buffer-assignment.txt")
    assert 0 == call("ingest", tmp_path, "--warehouse", warehouse).code
    found = rows(warehouse, "SELECT run_name, dump_count FROM marts.runs ORDER BY ALL")
    assert [("dump", 2), ("job", 1)] == found


def test_a_hundred_directories_of_one_name_are_ingested_by_one_command(tmp_path, warehouse):
    """As profilers leave them: each run is called by the part of its path that is its own, and --plan shows it."""
    for number in range(100):
        write_run(tmp_path / f"step_{number}" / "profile" / "xla_dump", None, PLAIN)
    outcome = call("ingest", "--plan", tmp_path, "--warehouse", warehouse)
    assert "100 dumps of 100 runs seen" in outcome.out
    assert "runs: step_0, step_1, " in outcome.out
    assert (0, 100) == (ingest(warehouse, tmp_path)[0], rows(warehouse, "SELECT COUNT(*) FROM raw.runs")[0][0])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "run.json:1:2: expected JSON: a property name enclosed in double quotes, found the end of the line"),
        (b'{\n "a": 1\n "b": 2}', "run.json:3:2: expected JSON: a ',' delimiter, found '\"b\": 2}'"),
        (b'{"a": 1} {', "run.json:1:10: expected JSON, found: Extra data"),
        (b"[]", "run.json:1:1: expected a JSON object, found list"),
        (b'{"device_count": "8"}', "expected device_count to be int, found '8'"),
        (b'{"device_count": true}', "expected device_count to be int, found True"),
        (b'{"platform": 1}', "expected platform to be str, found 1"),
        (b'{"labels": []}', "expected labels to be dict"),
        (b'{"run_name": 5}', "expected run_name to be str"),
        (b"\xff{}", "expected UTF-8, found byte 0xff"),
    ],
)
def test_a_bad_run_file_is_a_wrong_call(data, message):
    """What is no JSON object, or holds a field of the wrong kind, is refused with its place or its name."""
    with pytest.raises(UsageError) as error:
        read_run_file("/jobs/run.json", data)
    assert message in str(error.value)


def test_a_number_of_zero_in_a_run_file_is_one_that_nobody_knows():
    """As launchers write it; as a capacity of no byte every program would be too large for it."""
    assert {"device_memory_bytes": None, "track": "n"} == read_run_file("", b'{"device_memory_bytes": 0, "track": "n"}')


HOSTILE = {
    "not json": b"{nightly}",
    "not a number": b'{"labels": {"share": NaN}}',
    "beyond doubles": b'{"labels": {"share": 1e999}}',
    "deep": b'{"labels": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "deep and small": b'{"labels": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "thousands of digits": b'{"labels": {"x": ' + b"9" * 5000 + b"}}",
    "too large": b'{"comment": "' + b"x" * (1 << 20) + b'"}',
    "a day that is none": b'{"started_at": "2026-02-30"}',
    "before the calendar": b'{"started_at": "0001-01-01T00:00:00+14:00"}',
    "behind the calendar": b'{"started_at": "9999-12-31T23:59:59-14:00"}',
}


@pytest.mark.parametrize("said", ["   ", None, pytest.param("", marks=pytest.mark.soak)])
def test_a_blank_name_in_the_run_file_names_no_run(warehouse, tmp_path, said):
    """The directory does, as without one; a call that gives a blank name is refused."""
    write_run(tmp_path / "nightly", {"run_name": said}, PLAIN)
    assert 2 == call("ingest", tmp_path / "nightly", "--run", " ", "--warehouse", warehouse).code
    assert 0 == call("ingest", tmp_path / "nightly", "--warehouse", warehouse).code
    assert [("nightly",)] == rows(warehouse, "SELECT run_name FROM raw.runs")
    assert 2 == call("runs", "rename", "nightly", " ", "--warehouse", warehouse).code


def test_a_bad_run_file_leaves_out_its_own_run(warehouse, tmp_path):
    """Each is named once, with the number of its dumps; the run beside them is loaded, and the exit code is 1."""
    source = tmp_path / "runs"
    kinds = [*HOSTILE, "pipe", "device", "outside", "nowhere", "directory"]
    paths = {kind: source / kind.replace(" ", "_") / "run.json" for kind in kinds}
    for kind, path in paths.items():
        write_run(path.parent, None, PLAIN, STAMPED)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "outside":
            path.symlink_to(write_run(tmp_path / "elsewhere", {"run_name": "theirs"}) / "run.json")
        elif kind == "nowhere":
            path.symlink_to("facts.json")
        elif kind == "directory":
            path.mkdir()
        else:
            path.write_bytes(HOSTILE[kind])
    write_run(source / "good", None, PLAIN)
    code, summary = ingest(warehouse, source)
    assert (1, ["good"], 1) == (code, summary["runs"], summary["new"])
    lines = summary["unreadable"]
    for kind, path in paths.items():
        [line] = [line for line in lines if line.startswith(f"{path}:")]
        assert line.endswith("; 2 dumps left out"), kind
        assert len(line) < 1000, kind
    assert len(paths) == len(lines)


def test_facts_of_the_run_file_and_labels_of_the_call_reach_the_table(warehouse, tmp_path):
    """Labels that are columns fill them and win over run.json; the others stand in `labels`."""
    facts = {
        "run_name": "nightly", "compiler": "jaxlib", "compiler_version": "0.9.0", "compiler_revision": "abc",
        "platform": "gpu", "track": "release", "device_kind": "H100", "device_memory_bytes": 80 << 30,
        "device_count": 8, "xla_flags": "--xla_x", "git_revision": "def", "host": "h", "labels": {"team": "a", "n": 1},
        "started_at": "2026-01-31T12:00:00+02:00", "comment": "not a column",
    }  # fmt: skip
    write_run(tmp_path / "run", facts, PLAIN)
    words = ["--label", "track=fast", "--label", "device_count=4", "--label", "team=b", "--label", "owner=c=d"]
    assert 0 == call("ingest", tmp_path / "run", "--warehouse", warehouse, *words).code
    columns = [key for key in facts if key not in ("labels", "started_at", "comment")]
    [row] = rows(warehouse, f"SELECT {', '.join(columns)}, labels, started_at, started_at_source FROM raw.runs")
    expected = {**{key: facts[key] for key in columns}, "track": "fast", "device_count": 4}
    assert expected == dict(zip(columns, row, strict=False))
    assert {"team": "b", "n": 1, "owner": "c=d"} == json.loads(row[-3])
    assert (datetime(2026, 1, 31, 10, tzinfo=UTC), "run.json") == row[-2:]


def test_run_and_label_of_the_command_line(warehouse, tmp_path):
    """--run names the run, --label started_at dates it."""
    write_run(tmp_path / "run", {"run_name": "other"}, PLAIN)
    words = ["--run", "mine", "--label", "started_at=2026-01-02", "--label", "platform=tpu"]
    assert 0 == call("ingest", tmp_path / "run", "--warehouse", warehouse, *words).code
    found = rows(warehouse, "SELECT run_name, started_at, started_at_source, platform FROM raw.runs")
    assert [("mine", datetime(2026, 1, 2, tzinfo=UTC), "given", "tpu")] == found


def test_a_platform_in_capitals_is_the_one_that_dumps_name(warehouse, tmp_path):
    """In run.json, in a label, in a path, and set later; any other text stays as it is."""
    words = ["--warehouse", warehouse]
    write_run(tmp_path / "a", {"platform": "GPU"}, PLAIN)
    write_run(tmp_path / "b", None, PLAIN)
    write_run(tmp_path / "Tpu" / "c", None, PLAIN)
    write_run(tmp_path / "d", {"platform": "METAL"}, PLAIN)
    assert 0 == call("ingest", tmp_path / "a", tmp_path / "d", *words).code
    assert 0 == call("ingest", tmp_path / "b", *words, "--label", "platform=TPU").code
    named = discover([str(tmp_path)], places=Named(check_pattern("{platform}/{run}/module_*"), {})).runs
    assert ["tpu"] == [run.facts["platform"] for run in named.values()]
    query = "SELECT run_name, platform FROM raw.runs ORDER BY 1"
    assert [("a", "gpu"), ("b", "tpu"), ("d", "METAL")] == rows(warehouse, query)
    assert 0 == call("runs", "set", "b", "platform=CPU", *words).code
    assert ("b", "cpu") == rows(warehouse, query)[1]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("nightly", "--label: expected K=V, found 'nightly'"),
        ("=x", "--label: expected K=V, found '=x'"),
        ("device_count=many", "--label device_count: expected a whole number from 0 to 2^63 - 1, found 'many'"),
        ("device_memory_bytes=0", "--label device_memory_bytes: expected a number above 0, found 0"),
        ("started_at=yesterday", "expected started_at as ISO 8601"),
        ("track=nightly", "--label: track is given twice"),
    ],
)
def test_labels_that_say_nothing_are_a_wrong_call(warehouse, tmp_path, label, message):
    """A label without a key, of the wrong kind for its column, or given before, ends the command with 2."""
    write_run(tmp_path / "run", None, PLAIN)
    outcome = call("ingest", tmp_path / "run", "--warehouse", warehouse, "--label", "track=release", "--label", label)
    assert 2 == outcome.code
    assert message in outcome.err


@pytest.mark.parametrize(
    ("facts", "names", "moment", "source"),
    [
        ({"started_at": "2026-01-31T12:00:00Z"}, [STAMPED], datetime(2026, 1, 31, 12, tzinfo=UTC), "run.json"),
        ({"track": "x"}, [PLAIN, STAMPED], datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC), "file name"),
        (None, [PLAIN, f"x{PLAIN}"], datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC), "file time"),
    ],
)
def test_the_best_source_dates_a_run(tmp_path, facts, names, moment, source):
    """run.json, else the time stamp in a file name, else the oldest file; the column beside it says which."""
    write_run(tmp_path / "run", facts, *names)
    run = discover([tmp_path / "run"]).runs["run"]
    assert (moment, source) == (run.started_at, run.started_at_source)


def test_a_run_without_any_date_started_when_it_was_ingested():
    """started_at is never null."""
    before = datetime.now(UTC)
    run = make_run("run", "/run", {})
    assert "ingest time" == run.started_at_source
    assert before <= run.started_at <= datetime.now(UTC)
