"""Programs for which one compiler with one set of flags gave different bytes."""

import json
from pathlib import Path

import duckdb
import pytest

from bufferhouse.warehouse.open import writing
from tests.command_line import call
from tests.ingests import write_dumps
from tests.synthetic import Slot, dump_text, small_dump
from tests.warehouses import load_runs, rows


def answers(path: Path) -> tuple[list[dict], tuple[int, int, int, int]]:
    """The rows of the command's JSON, and how many programs and runs it says were judged, and how many were not."""
    said = call("determinism", "--warehouse", path, "--format", "json")
    assert 0 == said.code
    told = json.loads(said.out)["answers"]
    [facts] = told["determinism_runs"]
    counts = tuple(facts[f"{state}_{noun}_count"] for state in ("judged", "unjudged") for noun in ("program", "run"))
    return told["determinism"], counts


def found(path: Path) -> list[dict]:
    """The rows alone."""
    return answers(path)[0]


def test_runs_without_flags_are_not_called_determinate(example_warehouse: Path):
    """No run says its flags: none is judged, the answer says so and how to add them, and it reassures nobody."""
    said = call("determinism", "--warehouse", example_warehouse)
    assert 0 == said.code
    assert "11 runs, 10 with a compiler version, 0 with known flags." in said.out
    assert "Judged: 0 of 28 programs and 0 of 11 runs" in said.out
    assert "11 runs without known flags: bufferhouse runs set RUN xla_flags=… adds them" in said.out
    assert "No program" not in said.out
    assert ([], (0, 0, 28, 11)) == answers(example_warehouse)


@pytest.fixture
def twice(own_warehouse: Path) -> Path:
    """The example fleet, where two releases are called one compiler."""
    with duckdb.connect(str(own_warehouse)) as con:
        con.execute(
            "UPDATE raw.runs SET compiler_version = '0.5', compiler_revision = NULL, xla_flags = '--xla_x',"
            " git_revision = NULL WHERE run_name IN ('jaxlib-0.4.38', 'jaxlib-0.6.0')"
        )
    return own_warehouse


def test_other_bytes_of_one_compiler_are_found(twice: Path):
    """The programs that changed between the two runs, with the least and the most bytes, and where they were seen."""
    with duckdb.connect(str(twice)) as con:
        expected = con.execute(
            "SELECT program_name, MIN(reserved_bytes), MAX(reserved_bytes) FROM marts.memory_space_trend_v1"
            " WHERE run_name IN ('jaxlib-0.4.38', 'jaxlib-0.6.0') GROUP BY program_name, memory_space"
            " HAVING COUNT(DISTINCT reserved_bytes) > 1 OR COUNT(DISTINCT occupied_peak_bytes) > 1 ORDER BY ALL"
        ).fetchall()
    listed = found(twice)
    assert expected == sorted(
        (row["program_name"], row["least_reserved_bytes"], row["most_reserved_bytes"]) for row in listed
    )
    first = listed[0]
    assert ("jit_cnn_train_step", 1361380, "jaxlib-0.4.38", "jaxlib-0.6.0", 2) == (
        first["program_name"], first["reserved_spread_bytes"], first["least_run_name"], first["most_run_name"],
        first["run_count"],
    )  # fmt: skip


def test_a_difference_is_not_hidden_by_the_directory_that_dumps_go_to(twice: Path):
    """Runs whose flags differ in places and in what is logged had the same flags; those that matter are shown."""
    before = found(twice)
    with duckdb.connect(str(twice)) as con:
        con.execute(
            "UPDATE raw.runs SET xla_flags = '--xla_x --xla_dump_to=/d/' || run_name || ' --v=' || length(run_name)"
            " WHERE run_name IN ('jaxlib-0.4.38', 'jaxlib-0.6.0')"
        )
    after, (programs, runs, unjudged_programs, unjudged_runs) = answers(twice)
    assert len(before) > 0
    assert [{**row, "xla_flags": None} for row in before] == after
    assert ["--xla_x"] * len(after) == [row["effective_flags"] for row in after]
    assert ["same flags"] * len(after) == [row["basis"] for row in after]
    assert (28, 2, 9) == (programs + unjudged_programs, runs, unjudged_runs)
    assert f"Judged: {programs} of 28 programs and 2 of 11 runs" in call("determinism", "--warehouse", twice).out


def test_flags_that_nobody_recorded_equal_nothing(twice: Path):
    """Of two runs of one compiler, one or both without flags, nothing is said; an empty text says there were none."""
    for flags, is_found in (((None, "--xla_x"), False), ((None, None), False), (("", "--xla_dump_to=/d"), True)):
        with duckdb.connect(str(twice)) as con:
            for run_name, text in zip(("jaxlib-0.4.38", "jaxlib-0.6.0"), flags, strict=True):
                con.execute("UPDATE raw.runs SET xla_flags = ? WHERE run_name = ?", [text, run_name])
        listed, (programs, *_) = answers(twice)
        assert (is_found, is_found) == (bool(listed), bool(programs))


def test_agreement_is_said_of_judged_programs_only(warehouse: Path):
    """Two runs with the same dump and flags agree; a third with a program of its own is not part of the sentence."""
    small, large = ({"combined": small_dump(number)} for number in (1, 9))
    with writing(warehouse) as writer:
        load_runs(writer, {"a": [small], "b": [small], "c": [large]})
        writer.con.execute("UPDATE raw.runs SET compiler_version = '1', xla_flags = '--xla_x'")
        writer.con.execute("UPDATE raw.runs SET compiler_version = '2' WHERE run_name = 'c'")
    said = call("determinism", "--warehouse", warehouse).out
    assert "No program that could be judged differs in bytes." in said
    assert "1 run sharing no program with another run of the same compiler" in said
    assert (1, 2, 0, 1) == answers(warehouse)[1]


def test_a_memory_space_that_one_run_lacks_is_a_difference(warehouse: Path):
    """The same program with and without bytes in a memory space has other bytes there, from 0 on."""
    slots, headers = [Slot(0, 2, 0, 64), Slot(0, 2, 0, 8, allocation=1)], [", preallocated-temp"]
    alone, beside = dump_text(slots[:1], headers), dump_text(slots, [*headers, ", color 1, preallocated-temp"])
    with writing(warehouse) as writer:
        load_runs(writer, {"a": [{"combined": alone}], "b": [{"combined": beside}]})
        writer.con.execute("UPDATE raw.runs SET compiler_version = '1', xla_flags = '--xla_x'")
    [row] = found(warehouse)
    names = ("memory_space", "least_reserved_bytes", "most_reserved_bytes", "occupied_spread_bytes", "run_count")
    assert (1, 0, 8, 8, 2) == tuple(row[name] for name in names)
    assert ("a", "b") == (row["least_run_name"], row["most_run_name"])
    assert "No program" not in call("determinism", "--warehouse", warehouse).out


@pytest.mark.parametrize("column", ["xla_flags", "git_revision", "compiler_revision"])
def test_other_flags_or_sources_are_another_thing(twice: Path, column: str):
    """Runs with other flags, another source or another revision of the compiler are not compared."""
    with duckdb.connect(str(twice)) as con:
        if column == "compiler_revision":
            con.execute("UPDATE raw.observations SET compiler_revision = NULL")
        con.execute(f"UPDATE raw.runs SET {column} = run_name")
    assert [] == found(twice)


def test_targets_of_one_program_stand_in_their_order(warehouse: Path, tmp_path: Path):
    """Rows that are equal in bytes and runs differ in what they were compiled for, and are sorted by that."""
    for number, target in enumerate(f"sm_{number}.0_gpu" for number in range(4, 10)):
        for path in write_dumps(tmp_path / "run", (1, 9)):
            path.rename(path.with_name(path.name.replace("cpu", target).replace("module_000", f"module_{number}00")))
    assert 0 == call("ingest", tmp_path / "run", "--warehouse", warehouse).code
    assert [f"sm_{number}.0" for number in range(4, 10)] == [row["compile_target"] for row in found(warehouse)]


def test_without_a_version_a_run_is_compared_with_itself(warehouse: Path):
    """Two runs that say no compiler may be of two; two dumps of one run are of one. Equal findings are one row."""
    small, large = ({"combined": small_dump(number)} for number in (1, 9))
    with writing(warehouse) as writer:
        load_runs(writer, {"a": [small], "b": [large]})
    assert [] == found(warehouse)
    with writing(warehouse) as writer:
        load_runs(writer, {"c": [small, large], "d": [small, large]})
    [row], (programs, *_) = answers(warehouse)
    [(spread,)] = rows(warehouse, "SELECT MAX(reserved_bytes) - MIN(reserved_bytes) FROM marts.peak_memory_v1")
    assert ("jit_f", spread, 2, 2, "one run") == (
        row["program_name"], row["reserved_spread_bytes"], row["run_count"], row["content_count"], row["basis"],
    )  # fmt: skip
    assert 0 == programs
    assert "Different bytes within one run" in call("determinism", "--warehouse", warehouse).out


def test_two_dumps_of_a_single_run_are_not_told_as_judged(warehouse: Path):
    """No other run has the program: none was judged, and what differs stands below what says why."""
    small, large = ({"combined": small_dump(number)} for number in (1, 9))
    with writing(warehouse) as writer:
        load_runs(writer, {"a": [small, large]})
        writer.con.execute("UPDATE raw.runs SET compiler_version = '1', xla_flags = '--xla_x'")
    lines = call("determinism", "--warehouse", warehouse).out.splitlines()
    [judged] = (number for number, line in enumerate(lines) if line.startswith("Judged: 0 of 1 program and 0 of 1 run"))
    heading = lines.index("Different bytes within one run")
    [program] = (number for number, line in enumerate(lines) if line.startswith("jit_f "))
    assert sorted([judged, heading, program]) == [judged, heading, program]
    assert "or no other run of the same compiler and flags has the program." in " ".join(lines[heading + 1 : program])
