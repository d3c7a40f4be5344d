"""Programs for which one compiler with one set of flags gave different bytes."""

import json
from pathlib import Path

import pytest

from bufferhouse.warehouse.warehouse import Warehouse
from tests.command_line import call
from tests.synthetic import small_dump
from tests.warehouses import load_runs, rows


def found(path: Path) -> list[dict]:
    """The rows of the command's JSON."""
    said = call("determinism", "--warehouse", path, "--format", "json")
    assert 0 == said.code
    return json.loads(said.out)["answers"]["determinism"]


def test_the_example_fleet_is_determinate(example_warehouse: Path):
    """Every compiler compiled every program once: nothing is found, and the answer says over how many runs."""
    said = call("determinism", "--warehouse", example_warehouse)
    assert 0 == said.code
    assert "11 runs, 10 with a compiler version." in said.out
    assert "No program differs in bytes between dumps of one compiler with one set of flags." in said.out


@pytest.fixture
def twice(own_warehouse: Path) -> Path:
    """The example fleet, where two releases are called one compiler."""
    with Warehouse(own_warehouse) as writer:
        writer.con.execute(
            "UPDATE raw.runs SET compiler_version = '0.5', compiler_revision = NULL, xla_flags = NULL,"
            " git_revision = NULL WHERE run_name IN ('jaxlib-0.4.38', 'jaxlib-0.6.0')"
        )
    return own_warehouse


def test_other_bytes_of_one_compiler_are_found(twice: Path):
    """The programs that changed between the two runs, with the least and the most bytes, and where they were seen."""
    with Warehouse(twice) as writer:
        expected = writer.con.execute(
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


@pytest.mark.parametrize("column", ["xla_flags", "git_revision", "compiler_revision"])
def test_other_flags_or_sources_are_another_thing(twice: Path, column: str):
    """Runs with other flags, another source or another revision of the compiler are not compared."""
    with Warehouse(twice) as writer:
        if column == "compiler_revision":
            writer.con.execute("UPDATE raw.observations SET compiler_revision = NULL")
        writer.con.execute(f"UPDATE raw.runs SET {column} = run_name")
    assert [] == found(twice)


def test_without_a_version_a_run_is_compared_with_itself(warehouse: Path):
    """Two runs that say no compiler may be of two; two dumps of one run are of one. Equal findings are one row."""
    small, large = ({"combined": small_dump(number)} for number in (1, 9))
    with Warehouse(warehouse) as writer:
        load_runs(writer, {"a": [small], "b": [large]})
    assert [] == found(warehouse)
    with Warehouse(warehouse) as writer:
        load_runs(writer, {"c": [small, large], "d": [small, large]})
    [row] = found(warehouse)
    [(spread,)] = rows(warehouse, "SELECT MAX(reserved_bytes) - MIN(reserved_bytes) FROM marts.peak_memory_v1")
    assert ("jit_f", spread, 2, 2) == (
        row["program_name"], row["reserved_spread_bytes"], row["run_count"], row["content_count"],
    )  # fmt: skip
