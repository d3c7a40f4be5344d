"""The memory timeline against brute force: every position of every memory space of every dump.

tests/models/test_marts.py compares it for dumps whose values share bytes in every way.
"""

from tests import oracle
from tests.models.readings import alive_in, by_dump, oracle_dumps
from tests.synthetic import Slot, dump_text
from tests.warehouses import load_texts

TIMELINE = """
    SELECT dump_id, memory_space, schedule_position, occupied_bytes, listed_bytes, buffer_count, instruction_name
    FROM marts.memory_timeline_v1 ORDER BY ALL
"""


def timeline_of(dump: dict) -> list[tuple]:
    """A row for each memory space and position, the end of the program included, where no instruction runs."""
    names = [*(dump["schedule"] or []), None]
    expected = []
    for space in sorted(oracle.reserved(dump)):
        figures = zip(oracle.occupied(dump, space), oracle.listed(dump, space), strict=True)
        for position, (occupied, listed) in enumerate(figures):
            count = len(alive_in(dump, space, position))
            expected.append((space, position, occupied, listed, count, names[position]))
    return expected


def test_timelines_of_the_fleet_are_those_of_brute_force(example, fleet):
    """Occupied, listed, values alive and the instruction, from position 0 to the end of each program."""
    found = by_dump(example, TIMELINE)
    dumps = oracle_dumps(example, fleet)
    assert dumps.keys() == found.keys()
    for dump_id, dump in dumps.items():
        assert timeline_of(dump) == found[dump_id]


def test_highest_points_of_timelines_are_the_peaks(example):
    """peak_memory says of each memory space what the timeline shows: height, first position, number of positions."""
    disagreeing = example.execute(
        """
        WITH highest AS (
            SELECT dump_id, memory_space, MAX(occupied_bytes) AS peak_bytes, MAX(listed_bytes) AS listed_bytes
            FROM marts.memory_timeline_v1 GROUP BY ALL
        ), tied AS (
            SELECT t.dump_id, t.memory_space, MIN(t.schedule_position) AS first_position, COUNT(*) AS position_count
            FROM marts.memory_timeline_v1 AS t JOIN highest AS h USING (dump_id, memory_space)
            WHERE t.occupied_bytes = h.peak_bytes AND h.peak_bytes > 0 GROUP BY ALL
        )
        (SELECT dump_id, memory_space, peak_bytes, listed_bytes, first_position, position_count
        FROM highest LEFT JOIN tied USING (dump_id, memory_space))
        EXCEPT
        SELECT dump_id, memory_space, occupied_peak_bytes, listed_peak_bytes, occupied_peak_position,
            occupied_peak_position_count FROM marts.peak_memory_v1
        """
    ).fetchall()
    assert [] == disagreeing


def test_a_timeline_done_by_hand(laboratory):
    """An operand and its result in place share an instant: listed counts both, occupied the bytes once."""
    text = dump_text([Slot(0, 1, 0, 64), Slot(1, 3, 0, 64), Slot(2, 2, 64, 8)])
    [dump_id] = load_texts(laboratory, [text])
    assert [
        (0, 0, 64, 64, 1, "v0"),
        (0, 1, 64, 128, 2, "v1"),
        (0, 2, 72, 72, 2, "v2"),
        (0, 3, 64, 64, 1, None),
    ] == by_dump(laboratory.con, TIMELINE)[dump_id]


def test_without_a_schedule_there_is_no_timeline(laboratory):
    """A dump that stops behind its allocations has no positions."""
    text = dump_text([Slot(0, 1, 0, 40)]).split(b"\n\n")[0] + b"\n"
    [dump_id] = load_texts(laboratory, [text])
    assert dump_id not in by_dump(laboratory.con, TIMELINE)


def test_slots_of_threads_are_in_no_timeline(laboratory):
    """Thread-local values count neither as bytes nor as buffers, also where a dump gives them a range."""
    text = dump_text([Slot(0, 2, 0, 64), Slot(1, 1, 0, 8, 1)], [", thread-local", ", preallocated-temp"])
    [dump_id] = load_texts(laboratory, [text])
    found = by_dump(laboratory.con, TIMELINE)[dump_id]
    assert [(0, 0, 0), (8, 8, 1), (0, 0, 0)] == [row[2:5] for row in found]
