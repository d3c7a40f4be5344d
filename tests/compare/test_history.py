"""The history of a program: its change points are those of the marts, and each is blamed for all of its bytes."""

import json
import re
from itertools import groupby
from pathlib import Path

import duckdb
import pytest

from bufferhouse.paths import CHECKOUT
from bufferhouse.report.compare.history import read_blame
from tests.command_line import call
from tests.ingests import SUFFIX
from tests.synthetic import Slot, dump_text, small_dump
from tests.warehouses import rows

CNN = "jit_cnn_train_step"


def change_points(path: Path, name: str) -> dict[tuple, list[tuple]]:
    """By compile target, track and memory space, run by run the bytes and their change, as the mart has them."""
    by_number = rows(
        path,
        "SELECT compile_target, track, memory_space, run_name, reserved_bytes, reserved_change_bytes"
        " FROM marts.memory_space_trend_v1 WHERE program_name = $1"
        " ORDER BY compile_target, track, memory_space, run_number",
        [name],
    )
    return {key: [row[3:] for row in part] for key, part in groupby(by_number, key=lambda row: row[:3])}


@pytest.mark.parametrize("name", [CNN, "jit_scan_rnn", "jit_sort_pairs"])
def test_change_points_are_those_of_the_marts(example_warehouse: Path, name: str):
    """Every series has all of its runs; a change point is a run whose bytes differ, and its causes sum to that."""
    found = read_blame(example_warehouse, name).series
    expected = change_points(example_warehouse, name)
    assert len(expected) == len(found)
    for series in found:
        points = expected[tuple(series.key[column] for column in ("compile_target", "track", "memory_space"))]
        assert [(run, size) for run, size, _ in points] == [
            (run["run_name"], run["metric_bytes"]) for run in series.runs
        ]
        assert [(run, change) for run, _, change in points if change] == [
            (new["run_name"], row.delta_bytes) for _, new, row in series.changes
        ]
        for old, new, row in series.changes:
            assert row.delta_bytes == sum(cause.size_bytes for cause in row.causes)
            assert (old["dump_id"], new["dump_id"]) == (row.pair.before.dump_id, row.pair.after.dump_id)


def test_the_series_with_most_bytes_comes_first(example_warehouse: Path):
    """Series stand by their largest run."""
    sizes = [max(run["metric_bytes"] for run in one.runs) for one in read_blame(example_warehouse, "jit_s").series]
    assert len(set(sizes)) > 3
    assert sorted(sizes, reverse=True) == sizes


def test_one_memory_space_by_another_metric(example_warehouse: Path):
    """The occupied peak of VMEM alone: its bytes are those of the mart."""
    found = read_blame(example_warehouse, "jit_scan_rnn", metric="occupied", memory_space=1).series
    expected = rows(
        example_warehouse,
        "SELECT occupied_peak_bytes FROM marts.memory_space_trend_v1"
        " WHERE program_name = 'jit_scan_rnn' AND memory_space = 1 ORDER BY platform, track, run_number",
    )
    assert [size for (size,) in expected] == [run["metric_bytes"] for one in found for run in one.runs]


def test_the_command_prints_each_first_run(example_warehouse: Path):
    """The terminal names the first run of every change, the run before it, and why; with --bytes to the byte."""
    said = call("blame", CNN, "--warehouse", example_warehouse, "--bytes")
    assert 0 == said.code
    assert re.search(r"^jaxlib-0\.6\.0 .* 5,330,392 B  6,691,772 B  \+1,361,380 B", said.out, re.MULTILINE)
    assert "Why jaxlib-0.6.0 differs from jaxlib-0.4.38\n5,330,392 B before, 6,691,772 B after" in said.out
    assert not re.search(r"\d [KMG]iB", said.out)


def test_json_has_runs_and_causes(example_warehouse: Path):
    """Every series with its runs; every change with causes whose bytes sum to it."""
    said = call("blame", CNN, "--warehouse", example_warehouse, "--format", "json")
    found = json.loads(said.out)["series"]
    assert found
    for series in found:
        for change in series["changes"]:
            assert change["delta_bytes"] == sum(cause["bytes"] for cause in change["causes"])
    assert {"jaxlib-0.4.38", "jaxlib-0.6.0", "jaxlib-0.8.0"} == {
        change["run_name"] for series in found for change in series["changes"]
    }


def test_a_program_without_a_change_is_a_row(example_warehouse: Path):
    """What never changed is listed with its bytes, and the words that mean nothing are answered with what is near."""
    said = call("blame", "jit_while_simple", "--warehouse", example_warehouse)
    assert (0, True) == (said.code, "Without a change" in said.out)
    wrong = call("blame", "jit_while_simpel", "--warehouse", example_warehouse)
    assert (2, "") == (wrong.code, wrong.out)
    assert "there is no program 'jit_while_simpel'; did you mean 'jit_while_simple'?" in wrong.err
    sql = "SELECT DISTINCT program_id FROM marts.observations WHERE program_name = 'jit_while_simple'"
    [(program_id,)] = rows(example_warehouse, sql)
    rounded = call("blame", int(float(program_id)), "--warehouse", example_warehouse)
    assert (2, True) == (rounded.code, rounded.err.endswith(f"did you mean {program_id}?\n"))


def test_a_memory_space_in_which_nothing_lies_is_told(example_warehouse: Path):
    """Nothing is no answer: the message has the memory spaces that there are."""
    spaces = {one.key["memory_space"] for one in read_blame(example_warehouse, CNN).series}
    said = call("blame", CNN, "--warehouse", example_warehouse, "--memory-space", "9")
    expected = f"nothing in memory space 9; its memory spaces: {', '.join(map(str, sorted(spaces)))}\n"
    assert (2, "", f"bufferhouse: {CNN} has {expected}") == (said.code, said.out, said.err)


def test_a_memory_space_that_comes_or_goes_is_a_change(warehouse: Path, tmp_path: Path):
    """From nothing and to nothing, as a comparison of the two runs says; no such series is without a change."""
    for number, sizes in enumerate(((64,), (64, 8), (64, 8), (64,))):
        slots = [Slot(0, 2, 0, size, allocation=space) for space, size in enumerate(sizes)]
        headers = [", preallocated-temp", ", color 1, preallocated-temp"][: len(sizes)]
        file = tmp_path / f"run{number}" / f"module_0001.jit_f.cpu_after_optimizations{SUFFIX}"
        file.parent.mkdir()
        file.write_bytes(dump_text(slots, headers))
    assert 0 == call("ingest", *sorted(tmp_path.glob("run*")), "--warehouse", warehouse).code
    for metric in ("reserved", "occupied"):
        found = read_blame(warehouse, "jit_f", metric=metric, memory_space=1).series
        assert [[("run0", 0), ("run1", 8), ("run2", 8), ("run3", 0)]] == [
            [(run["run_name"], run["metric_bytes"]) for run in series.runs] for series in found
        ]
        assert [("run1", 8), ("run3", -8)] == [(new["run_name"], row.delta_bytes) for _, new, row in found[0].changes]
        assert [8, -8] == [sum(cause.size_bytes for cause in row.causes) for *_, row in found[0].changes]
    assert [1, 2, 3, 4] == [run["run_number"] for run in found[0].runs]
    assert [None, 8, 0, -8] == [run["reserved_change_bytes"] for run in found[0].runs]


def test_what_is_not_known_is_not_called_unchanged(warehouse: Path, tmp_path: Path):
    """A peak of dumps without live ranges is not known; the runs that know it are compared with one another."""
    texts = {"jit_f": [small_dump(0), None, small_dump(8)], "jit_g": [None, None], "jit_h": [None, small_dump(0)]}
    for name, dumps in texts.items():
        for number, text in enumerate(dumps):
            (tmp_path / f"run{number}").mkdir(exist_ok=True)
            file = tmp_path / f"run{number}" / f"module_0001.{name}.cpu_after_optimizations{SUFFIX}"
            file.write_bytes(text or small_dump(0).split(b"\n\n")[0] + b"\n")
    assert 0 == call("ingest", *sorted(tmp_path.glob("run*")), "--warehouse", warehouse).code
    words = ("--metric", "occupied", "--bytes", "--warehouse", warehouse)
    said = call("blame", "jit_f", *words).out
    assert "72 B → 80 B, 1 change, not known in 1 run without live ranges." in said
    assert "Why run2 differs from run0\n72 B before, 80 B after: +8 B." in said
    said = call("blame", "jit_g", *words).out
    assert ("Not known, without live ranges" in said, "Without a change" in said) == (True, False)
    said = call("blame", "jit_h", *words).out
    assert re.search(r"^Without a change\n(.*\n){2}jit_h .* 72 B +2 +1  run0   run1$", said, re.MULTILINE)


def test_what_a_history_leaves_out_is_told(warehouse: Path, tmp_path: Path):
    """Runs whose dump of the program may be refused, and runs with several, of which one stands for them."""
    whole, file = small_dump(0), f"jit_f.cpu_after_optimizations{SUFFIX}"
    for run, texts in {"r1": [whole], "r2": [b"nonsense\n"], "r3": [whole, small_dump(1)]}.items():
        (tmp_path / run).mkdir()
        for number, text in enumerate(texts):
            (tmp_path / run / f"module_{number:04}.{file}").write_bytes(text)
    (tmp_path / "r2" / f"module_0009.jit_g.cpu_after_optimizations{SUFFIX}").write_bytes(whole)
    assert 1 == call("ingest", *(tmp_path / run for run in ("r1", "r2", "r3")), "--warehouse", warehouse).code
    expected = [
        "1 run without it had refused dumps, which may be of it: r2.",
        "1 run with several different dumps of it, of which the largest stands for the run: r3.",
    ]
    words = ("blame", "jit_f", "--warehouse", warehouse)
    assert expected == json.loads(call(*words, "--format", "json").out)["notes"]
    for form in ("table", "markdown"):
        assert set(expected) <= set(call(*words, "--format", form).out.splitlines())
    assert [] == read_blame(warehouse, "jit_g").notes


def test_another_signature_is_a_change_over_a_run_without_the_function(warehouse: Path, tmp_path: Path):
    """A night of other programs, or of another name, hides no growth."""
    reshaped = CHECKOUT / "tests" / "data" / "reshaped"
    # In run4 it is reshaped and has another name, by which nobody knows it.
    names = {"run1": "train_step", "run3": "train_step", "run4": "step", "run5": "train_step"}
    data = {"run1": "layers-4", "run3": "layers-6", "run4": "batch-64", "run5": "batch-64"}
    for run in ("run1", "run2", "run3", "run4", "run5"):
        (tmp_path / run).mkdir()
        (tmp_path / run / f"module_0001.jit_g.cpu_after_optimizations{SUFFIX}").write_bytes(small_dump(0))
        for file in (reshaped / data[run]).glob("*train_step*") if run in data else ():
            (tmp_path / run / file.name.replace("train_step", names[run])).write_bytes(file.read_bytes())
    assert 0 == call("ingest", *sorted(tmp_path.glob("run*")), "--warehouse", warehouse).code
    # Beside functions that every run has, too.
    for word in ("jit_train_step", "jit_"):
        told = json.loads(call("blame", word, "--warehouse", warehouse, "--format", "json").out)["reshaped"]
        assert [("run1", "run3", "reshaped"), ("run4", "run5", "renamed"), ("run3", "run5", "reshaped")] == [
            (one["previous_run_name"], one["run_name"], one["status"]) for one in told
        ]
    assert told[0]["after_bytes"] - told[0]["before_bytes"] == told[0]["delta_bytes"] > 0
    assert told[0]["delta_bytes"] == sum(cause["bytes"] for cause in told[0]["causes"])


def test_names_do_nothing_on_a_terminal(own_warehouse: Path):
    """Control characters in names of runs and programs are written as escapes."""
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute("UPDATE raw.runs SET run_name = run_name || $1, track = $1", ["\x1b[31m\u202e"])
        con.execute("UPDATE raw.observations SET program_name = program_name || $1", ["\x1b[31m\u202e"])
    for form in ("table", "markdown"):
        said = call("blame", CNN, "--warehouse", own_warehouse, "--format", form)
        assert 0 == said.code
        assert "" == "".join(char for char in said.out if not char.isprintable() and char != "\n")
