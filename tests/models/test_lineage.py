"""Lineage: from a column of a mart down to columns of raw, the same in every process."""

import json
from functools import cache

import pytest

from bufferhouse.errors import UsageError
from bufferhouse.models import project
from bufferhouse.models.lineage import Lineage, Origin
from schemas import TABLES
from tests.command_line import call, run


@cache
def all_models() -> list[project.Model]:
    return project.read()


@cache
def known_lineage() -> Lineage:
    return Lineage(all_models())


def origin(column: str) -> Origin:
    return known_lineage().of(column)


MARTS = [model.name for model in project.read() if model.layer == "marts"]


@pytest.mark.parametrize("mart", MARTS)
def test_every_column_comes_from_columns_of_raw(mart):
    """All leaves are columns that raw has, or say of which model the rows are counted, or which is written out."""
    known = {f"raw.{table}.{column}" for table, contract in TABLES.items() for column in contract.columns}
    known |= {f"rows of {name}" for name in [*(model.name for model in all_models()), *(f"raw.{t}" for t in TABLES)]}
    known |= {f"text of {model.name}" for model in all_models() if not model.reads}
    [model] = [model for model in all_models() if model.name == mart]
    for column in model.columns:
        leaves = origin(f"{mart}.{column}").leaves()
        assert leaves
        assert set(leaves) <= known


def test_a_tree_names_every_model_on_the_way():
    """Each line is a column, further in than what it feeds, and ends in raw."""
    assert [
        "marts.footprint_v1.parameter_bytes",
        "    intermediate.reserved.kind",
        "        staging.allocation_sizes.kind",
        "            raw.allocations.is_constant",
        "            raw.allocations.is_maybe_live_out",
        "            raw.allocations.is_thread_local",
        "            raw.allocations.parameter_number",
        "    intermediate.reserved.reserved_bytes",
        "        staging.allocation_sizes.size_bytes",
        "            raw.allocations.size_bytes",
    ] == origin("footprint_v1.parameter_bytes").lines()


def test_a_renamed_column_and_a_count_of_rows():
    """A rename is one line to the next; what is counted from rows alone says which rows."""
    assert [
        "marts.memory_timeline_v1.instruction_name",
        "    staging.schedule.instruction_name",
        "        raw.instructions.instruction_name",
    ] == origin("memory_timeline.instruction_name").lines()
    assert ["rows of staging.allocation_sizes"] == origin("padding_waste.allocation_count").leaves()


def test_union_and_window_are_looked_through():
    """The occupied peak comes from slots, live ranges and spaces, through running sums and unions."""
    leaves = origin("allocation_balance.occupied_peak_bytes").leaves()
    expected = {"raw.hlo_values.size_bytes", "raw.hlo_values.offset_bytes", "raw.live_ranges.start_position"}
    assert expected <= set(leaves)
    assert len(leaves) == len(set(leaves))


def test_a_pointer_is_the_newest_version():
    """peak_memory, marts.peak_memory and peak_memory_v1 are one; other layers are asked by their full name."""
    expected = origin("marts.peak_memory_v1.reserved_bytes").as_dict()
    for name in ("peak_memory.reserved_bytes", "marts.peak_memory.reserved_bytes", "peak_memory_v1.reserved_bytes"):
        assert expected == origin(name).as_dict()
    assert ["raw.dumps.text_bytes"] == origin("staging.dumps.text_bytes").leaves()


WRONG = {
    "peak_memry.reserved_bytes": "there is no model marts.peak_memry; did you mean 'marts.peak_memory_v1'?",
    "peak_memory.reserved_byte": "marts.peak_memory_v1 has no column 'reserved_byte'; did you mean 'reserved_bytes'?",
    "marts.footprnt": "there is no model marts.footprnt; did you mean 'marts.footprint_v1'?",
    "peak_memory.zzz": "marts.peak_memory_v1 has no column 'zzz'",
    "reserved_bytes": "expected a mart, or MODEL.COLUMN, such as peak_memory.reserved_bytes, found 'reserved_bytes'",
}


@pytest.mark.parametrize("column", WRONG)
def test_unknown_names_say_what_may_be_meant(column):
    """A name nobody has is answered with the one that is nearest."""
    with pytest.raises(UsageError) as error:
        origin(column)
    assert WRONG[column] == str(error.value)
    outcome = call("lineage", column)
    assert (2, "") == (outcome.code, outcome.out)
    assert f"bufferhouse: {WRONG[column]}\n" == outcome.err


def test_forms_of_the_command_say_the_same():
    """The tree, the list of columns of raw, and JSON with both."""
    column = "peak_buffers.peak_share"
    expected = origin(column)
    assert "\n".join(expected.lines()) + "\n" == call("lineage", column).out
    assert "\n".join(expected.leaves()) + "\n" == call("lineage", column, "--format", "list").out
    found = json.loads(call("lineage", column, "--format", "json").out)
    assert {**expected.as_dict(), "raw": expected.leaves()} == found


def test_the_order_is_the_same_in_every_process(monkeypatch):
    """It does not hang on how a process hashes texts."""
    monkeypatch.setenv("PYTHONHASHSEED", "1")  # this process has another one
    other = run("lineage", "allocation_balance.element_bytes").out
    assert "\n".join(origin("allocation_balance.element_bytes").lines()) + "\n" == other
