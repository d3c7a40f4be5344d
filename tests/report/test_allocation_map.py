"""The allocation map against an independent reader: which bytes a value takes, and when."""

import pytest

from bufferhouse.query.statements import ask_each
from tests import oracle
from tests.models.readings import by_dump, read

MAP = """
    SELECT dump_id, value_id, memory_space, allocation_index, offset_bytes, size_bytes, start_position, end_position,
        instruction_name, shape_text, element_bytes, layout_padding_bytes, slack_bytes, tuple_table_bytes
    FROM marts.allocation_map_v1 ORDER BY ALL
"""
# Dumps in one file and in three, of both platforms, and those without names; other releases write no other form.
RUNS = "run_name IN ('jaxlib-0.4.13', 'jaxlib-0.10.0', 'seeds') OR run_name LIKE 'tpu%0.8.3%'"
OTHER_RUNS = f"NOT ({RUNS})"


def mapped(dump: dict) -> list[tuple]:
    """A row for each value with a live range outside thread-local allocations, its slot taken apart."""
    allocations = {allocation["index"]: allocation for allocation in dump["allocations"]}
    rows = []
    for number, value in sorted(dump["values"].items()):
        allocation = allocations[value["allocation"]]
        if value["live_range"] and not allocation["is_thread_local"]:
            _, *parts = oracle.filling_of(value)
            place = (number, allocation["memory_space"], allocation["index"], value["offset"], value["size"])
            rows.append((*place, *value["live_range"], value["name"], value["shape"], *parts))
    return rows


@pytest.mark.parametrize(
    "runs", [RUNS, pytest.param(OTHER_RUNS, marks=pytest.mark.soak)], ids=["one of each kind", "the others"]
)
def test_slots_of_the_fleet_are_those_of_the_independent_reader(example, fleet, runs: str):
    """Every value with a live range, its place, its moments and its parts; no value without one, none of threads."""
    found = by_dump(example, MAP)
    sightings = example.execute(
        "SELECT dump_id, run_name || '/' || relative_path FROM raw.observations JOIN raw.runs USING (run_id)"
        f" WHERE {runs}"
    )
    for dump_id, path in sightings.fetchall():
        assert mapped(read(fleet / path)) == found.get(dump_id, [])


def test_the_parts_of_a_slot_sum_to_it(example):
    """Elements, layout padding, slack and tuple table are the slot, to the byte."""
    broken = example.execute(
        "SELECT * FROM marts.allocation_map_v1 WHERE size_bytes"
        " <> element_bytes + layout_padding_bytes + slack_bytes + tuple_table_bytes"
    )
    assert [] == broken.fetchall()


def test_a_thinned_timeline_keeps_its_peaks(example):
    """However few stretches a chart has, the occupied and the listed peak are in it, at their positions."""
    peaks = by_dump(
        example,
        "SELECT dump_id, memory_space, occupied_peak_position, occupied_peak_bytes, listed_peak_position,"
        " listed_peak_bytes FROM marts.peak_memory_v1 WHERE occupied_peak_bytes > 0 ORDER BY dump_id, memory_space",
    )
    chosen = list(peaks)[::12]
    for stretches in (1, 7):
        found = ask_each(example, "program_timeline", chosen, stretches=stretches)
        for dump_id in chosen:
            rows = found[dump_id].rows
            for space, position, occupied, listed_position, listed in peaks[dump_id]:
                assert (space, position, occupied) in [row[:3] for row in rows]
                assert (space, listed_position, listed) in [(row[0], row[1], row[3]) for row in rows]
                assert 3 * stretches >= len([row for row in rows if row[0] == space])


def test_a_short_schedule_is_not_thinned(example):
    """With as many stretches as positions, the statement answers the whole timeline."""
    whole = by_dump(
        example,
        "SELECT dump_id, memory_space, schedule_position, occupied_bytes, listed_bytes, buffer_count, instruction_name"
        " FROM marts.memory_timeline_v1 ORDER BY ALL",
    )
    for dump_id in list(whole)[::12]:
        found = ask_each(example, "program_timeline", [dump_id], stretches=400)[dump_id].rows
        expected = whole[dump_id]
        if found:  # else without live ranges
            assert (expected if len(expected) <= 400 else found) == found
