"""`bufferhouse ingest --config`: one pass over the configured sources, as the flow makes it."""

import json
import os
import shutil
from pathlib import Path

import duckdb
import pytest

from bufferhouse.config.load import Config
from bufferhouse.errors import UsageError
from bufferhouse.ingest.source import chosen_sources
from tests.command_line import call
from tests.ingests import name_of, write_dumps
from tests.sources.test_archive import archived
from tests.synthetic import small_dump
from tests.warehouses import published_path

CONFIG = """
[[sources]]
name = "nightly"
paths = ["nightly"]
runs = "{run}/**/module_*"
track = "night"
settle = "1h"

[[sources]]
name = "fresh"
paths = ["fresh"]
settle = "0s"
"""
LONG_AGO = (1_700_000_000, 1_700_000_000)


@pytest.fixture
def configured(tmp_path, warehouse):
    """A configuration with two sources beside a warehouse: one with an old and a new file, one that takes all."""
    (tmp_path / "bufferhouse.toml").write_text(CONFIG)
    old, _ = write_dumps(tmp_path / "nightly" / "r1", [1, 2])
    os.utime(old, LONG_AGO)
    write_dumps(tmp_path / "fresh", [3])
    return tmp_path / "bufferhouse.toml"


def one_pass(configured, *words):
    """Return the exit code, the figures and standard error."""
    outcome = call("ingest", "--config", configured, "--format", "json", *words)
    return outcome.code, json.loads(outcome.out), outcome.err


def observed(path):
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute(
            "SELECT run_name, track, relative_path FROM raw.observations JOIN raw.runs USING (run_id) ORDER BY 1, 3"
        ).fetchall()


def test_a_pass_loads_what_is_ready_in_all_sources_and_publishes_it(configured, warehouse):
    """By the rules of each source: its runs, its track, and what changed lately waits; the next pass knows the rest."""
    code, said, _ = one_pass(configured)
    assert (0, 3, 2, 0, {}) == (code, *(said[name] for name in ("seen", "new", "known", "faults")))
    (waiting,) = said["waiting"]
    assert f"{name_of(2)}: it changed less than 3600 s ago" in waiting
    expected = [("fresh", None, name_of(3)), ("r1", "night", name_of(1))]
    assert expected == observed(warehouse) == observed(published_path(warehouse))
    os.utime(configured.parent / "nightly" / "r1" / name_of(2), LONG_AGO)
    code, said, _ = one_pass(configured)
    assert (0, 3, 1, 2, []) == (code, *(said[name] for name in ("seen", "new", "known", "waiting")))
    assert "0 new, 3 known" in call("ingest", "--config", configured).out


def test_a_run_json_below_the_directory_of_its_run_is_named(configured):
    """A pattern says which directory is the run: a file beside the dumps of one host does not describe it."""
    run = configured.parent / "nightly" / "r1"
    (dump,) = write_dumps(run / "host", [4])
    os.utime(dump, LONG_AGO)
    below = run / "host" / "run.json"
    below.write_text('{"compiler": "jaxlib", "platform": "cpu"}')
    said = call("ingest", "--config", configured).out
    assert f"run r1: {below} is not read, as the directory of the run is {run}; put the run.json there" in said
    below.rename(run / "run.json")
    (configured.parent / "warehouse.duckdb").unlink()
    said = call("ingest", "--config", configured).out
    assert (False, False) == ("is not read" in said, "run r1: compiler or" in said)


def test_a_source_that_is_not_there_stops_no_other(configured):
    """Exit 2, with the reason by the name of the source; what lies in the others is loaded."""
    with configured.open("a") as file:
        file.write('[[sources]]\nname = "gone"\npaths = ["gone"]\n')
    code, said, err = one_pass(configured)
    place = configured.parent / "gone"
    assert (2, 2, {"gone": f"{place}: no such file or directory"}) == (code, said["new"], said["faults"])
    assert f"bufferhouse: source gone: {place}: no such file or directory\n" in err


def test_flags_take_the_place_of_what_is_configured(configured, warehouse, blank_warehouse):
    """Another warehouse, a value of a source, labels of all runs, and no publishing."""
    own = Path(shutil.copy(blank_warehouse, configured.parent / "own.duckdb"))
    words = ["--warehouse", own, "--set", "sources.nightly.settle=0", "--set", "warehouse.publish=false"]
    code, said, _ = one_pass(configured, *words, "--label", "track=other")
    assert (0, 3) == (code, said["new"])
    assert {("fresh", "other"), ("r1", "other")} == {row[:2] for row in observed(own)}
    assert (False, []) == (published_path(own).exists(), observed(warehouse))


def test_a_refused_dump_is_exit_1(configured):
    """As it is without a configuration; the others are loaded."""
    path = configured.parent / "fresh" / name_of(3)
    path.write_bytes(path.read_bytes()[:-30])
    code, said, _ = one_pass(configured)
    assert (1, 1, 1) == (code, said["new"], said["rejected"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dumps", "--config", "FILE"], "expected SOURCES or --config FILE, not both; for some of the configured"),
        (["--plan", "--include", "a*", "--config", "FILE"], "expected --config or --include, --plan, not both"),
        (["dumps", "--plan", "--publish"], "expected --plan or --publish, not both: a plan writes nothing"),
        (["dumps", "--set", "warehouse.wait=1s"], "--set: expected --config FILE beside it"),
        (["--config", "none.toml"], "none.toml: there is no such configuration"),
        ([], "expected sources to ingest, --config FILE, or --reparse"),
    ],
    ids=["both", "others", "plan", "set", "missing", "nothing"],
)
def test_a_wrong_call_is_refused(configured, warehouse, words, message):
    """Exit 2, with what was expected, and nothing is loaded."""
    outcome = call("ingest", *(configured if word == "FILE" else word for word in words))
    assert 2 == outcome.code
    assert message in outcome.err
    assert [] == observed(warehouse)


def test_no_source_at_all_is_said():
    """Neither named nor configured: the message says where a source can stand."""
    with pytest.raises(UsageError, match=r"expected sources, or \[\[sources\]\] in a bufferhouse.toml; found none"):
        chosen_sources(Config())


def two_tracks(tmp_path: Path, *, pattern: str = "") -> Path:
    """Two sources with a run directory of the same name in each, and other dumps in it, the file's name alike."""
    text = ""
    for number, name in enumerate(("nightly", "release")):
        write_dumps(tmp_path / name / "2026-11-20", [number])[0].rename(tmp_path / name / "2026-11-20" / name_of(9))
        text += f'[[sources]]\nname = "{name}"\npaths = ["{name}"]\ntrack = "{name}"\nsettle = "0s"\n{pattern}\n'
    (tmp_path / "bufferhouse.toml").write_text(text)
    return tmp_path / "bufferhouse.toml"


def test_run_directories_of_one_name_in_two_sources_are_two_runs(tmp_path, warehouse):
    """In one pass as in two: each has its track, and the next pass reads nothing."""
    configured = two_tracks(tmp_path)
    told = [one_pass(configured)[:2] for _ in range(3)]
    assert [(0, 2), (0, 0), (0, 0)] == [(code, said["new"]) for code, said in told]
    path = name_of(9)
    assert [("2026-11-20", "nightly", path), ("release/2026-11-20", "release", path)] == observed(warehouse)


def test_a_run_that_a_pattern_calls_like_another_one_is_left_out_alone(tmp_path, warehouse):
    """What else the source holds is loaded; --run gives the run another name, once and for all."""
    configured = two_tracks(tmp_path, pattern='runs = "{run}/module_*"')
    write_dumps(tmp_path / "release" / "2026-11-21", [5])
    code, said, _ = one_pass(configured)
    assert (1, 2, ["2026-11-20", "2026-11-21"]) == (code, said["new"], said["runs"])
    [fault] = said["unreadable"]
    assert "there is a run '2026-11-20' from " in fault
    assert fault.endswith("give the run of this folder another name with --run; 1 dump left out")
    again = one_pass(configured)
    assert "the warehouse has a run '2026-11-20' from " in again[1]["unreadable"][0]
    folder = tmp_path / "release" / "2026-11-20"
    assert 0 == call("ingest", folder, "--run", "other", "--warehouse", warehouse).code
    code, said, _ = one_pass(configured)
    assert (0, 0, []) == (code, said["new"], said["unreadable"])
    assert ["2026-11-20", "2026-11-21", "other"] == [run for run, *_ in observed(warehouse)]


def test_run_says_the_run_of_a_source_with_a_pattern(tmp_path, warehouse):
    """As of any other; two sources are one run, unless they hold two files of one path."""
    configured = two_tracks(tmp_path, pattern='runs = "{run}/module_*"')
    code, said, _ = one_pass(configured, "--run", "mine")
    assert (2, 1, ["mine"]) == (code, said["new"], said["runs"])
    assert "there is a run 'mine' from " in said["faults"]["release"]
    (tmp_path / "release" / "2026-11-20").rename(tmp_path / "release" / "2026-11-22")
    code, said, _ = one_pass(configured, "--run", "yours")
    assert (0, {"yours"}) == (code, set(said["runs"]))
    assert ["2026-11-20", "2026-11-22"] == [
        path.split("/")[0] for run, _, path in observed(warehouse) if run == "yours"
    ]


def test_archives_that_are_passed_by_are_named(tmp_path, warehouse):
    """As in an ingest by hand: a dump that comes beside them must not end what a source brings in silence."""
    configured = tmp_path / "bufferhouse.toml"
    source = '[[sources]]\nname = "nightly"\npaths = ["nightly"]\nsettle = "0s"\n'
    configured.write_text(source)
    (tmp_path / "nightly").mkdir()
    archives = [
        str(archived(tmp_path / "nightly" / f"{day}.tar.gz", {name_of(day): small_dump(day)})) for day in (1, 2)
    ]
    assert (0, 2, []) == pick(one_pass(configured))
    write_dumps(tmp_path / "nightly" / "r1", [3])
    passed_by = f"source nightly: {archives[0]} and 1 more: archives beside dumps are opened only when named"
    code, said, err = one_pass(configured)
    assert (0, 1, archives, True) == (*pick((code, said)), passed_by in err)
    configured.write_text(f'{source}exclude = ["*.gz"]\n')
    assert (0, 0, []) == pick(one_pass(configured))
    configured.write_text(source.replace('["nightly"]', '["nightly", "nightly/*.gz"]'))
    assert (0, 0, []) == pick(one_pass(configured))


def pick(outcome: tuple) -> tuple:
    code, said, *_ = outcome
    return code, said["new"], said["archives"]


def test_a_glob_whose_folder_is_gone_is_a_missing_source(tmp_path, warehouse):
    """As a folder that is gone is: where a disk is not mounted, nothing matches any more. Else it may be empty yet."""
    configured = tmp_path / "bufferhouse.toml"
    configured.write_text('[[sources]]\nname = "a"\npaths = ["mount/dumps/2026-*/*.tar"]\nsettle = "0s"\n')
    folder = tmp_path / "mount" / "dumps"
    code, _, err = one_pass(configured)
    expected = f"source a: {folder}/2026-*/*.tar: no such file or directory: {folder}"
    assert (2, True) == (code, expected in err)
    assert ":3:1: nothing is at mount/dumps yet" in call("config", "check", "--config", configured).err
    folder.mkdir(parents=True)
    assert (0, 0) == pick(one_pass(configured))[:2]
    assert "nothing is at" not in call("config", "check", "--config", configured).err
