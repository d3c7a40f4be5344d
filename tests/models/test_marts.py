"""The marts against brute force: an oracle that shares no code with them counts every position by itself."""

from itertools import accumulate

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bufferhouse.models import project
from bufferhouse.paths import MODELS
from bufferhouse.query.format import formatted
from bufferhouse.warehouse.warehouse import Warehouse
from tests import oracle
from tests.models.readings import by_dump, owned_parts
from tests.models.sharing import MEMORY_SPACES, SHARING, slots
from tests.models.test_balance import BALANCE, OWNERS, assert_closed, balance_of, owners_of
from tests.models.test_timeline import TIMELINE, timeline_of
from tests.synthetic import Slot, dump_text
from tests.warehouses import load_texts

KINDS = ("parameter", "output", "constant", "temp", "thread_local")
PEAKS = """
    SELECT dump_id, memory_space, reserved_bytes, thread_local_bytes, occupied_peak_bytes, occupied_peak_position,
        occupied_peak_position_count, listed_peak_bytes, listed_peak_position
    FROM marts.peak_memory_v1 ORDER BY dump_id, memory_space
"""
WHOLE_DUMP = """
    SELECT DISTINCT dump_id, dump_listed_peak_bytes, dump_listed_peak_position, dump_reported_peak_position,
        dump_reported_peak_bytes, has_other_reported_peak
    FROM marts.peak_memory_v1
"""
PADDING = """
    SELECT dump_id, memory_space, kind, allocation_count, reserved_bytes, value_count, slot_bytes, occupied_bytes,
        element_bytes, layout_padding_bytes, slack_bytes, tuple_table_bytes, value_count_all_values,
        slot_bytes_all_values, element_bytes_all_values, layout_padding_bytes_all_values, slack_bytes_all_values,
        tuple_table_bytes_all_values
    FROM marts.padding_waste_v1
"""
CHANGES = """
    SELECT dump_id, memory_space, position_in_schedule, occupied_change_bytes FROM intermediate.space_changes
"""


def peaks_of(dump: dict) -> list[tuple]:
    thread_local, expected = oracle.thread_local(dump), []
    for space, reserved in sorted(oracle.reserved(dump).items()):
        occupied = oracle.occupied(dump, space)
        peak, position = oracle.peak(occupied)
        tied = occupied.count(peak) if peak else None
        row = (space, reserved, thread_local[space], peak, position, tied)
        expected.append(row + oracle.peak(oracle.listed(dump, space)))
    return expected


def padding_of(dump: dict) -> list[tuple]:
    """A row for each kind of each memory space: counts, the peak taken apart, all values taken apart."""
    expected = []
    for space in oracle.reserved(dump):
        padding = oracle.padding(dump, space)
        position = padding["peak_position"]
        alive = [] if position is None else [value["id"] for value in oracle.alive_at(dump, position)]
        for kind in KINDS:
            inside = [a for a in dump["allocations"] if a["memory_space"] == space and oracle.kind_of(a) == kind]
            if not inside:
                continue
            values = [number for allocation in inside for number in allocation["values"]]
            live = [number for number in values if number in alive and kind != "thread_local"]
            parts = [owned_parts(dump["values"][number], padding["owned_bytes"].get(number, 0)) for number in live]
            at_peak = tuple(map(sum, zip(*parts, strict=True))) or (0,) * 5
            figures = padding["kinds"][kind]
            assert figures["occupied_bytes"] == at_peak[0]
            reserved = sum(allocation["size"] for allocation in inside)
            row = (space, kind.replace("_", "-"), len(inside), reserved, len(live), figures["alive"]["slot_bytes"])
            expected.append(row + at_peak + (len(values), *figures["all_values"].values()))
    return sorted(expected)


def test_peaks_of_the_fleet_are_those_of_brute_force(example, second_opinion):
    """Reserved, thread-local, occupied and listed bytes their first positions and ties, per dump and memory space."""
    found = by_dump(example, PEAKS)
    assert second_opinion.keys() == found.keys()
    for dump_id, dump in second_opinion.items():
        assert peaks_of(dump) == found[dump_id]


def test_listed_and_reported_peaks_of_whole_dumps_are_those_of_brute_force(example, second_opinion):
    """The most listed bytes of all memory spaces, what XLA printed, and whether the two disagree."""
    found = by_dump(example, WHOLE_DUMP)
    disagreeing = 0
    for dump_id, dump in second_opinion.items():
        listed = oracle.listed(dump)
        most, position = oracle.peak(listed)
        printed = sum(line[2] for line in dump["peak_lines"])
        has_other = most > listed[dump["peak_position"]]
        disagreeing += has_other
        assert [(most, position, dump["peak_position"], printed, has_other)] == found[dump_id]
    assert 0 < disagreeing < len(second_opinion)


def test_padding_of_the_fleet_is_that_of_brute_force(example, second_opinion):
    """Every kind of every memory space: at the peak with one owner for each byte, and over all values."""
    found = by_dump(example, PADDING)
    for dump_id, dump in second_opinion.items():
        assert padding_of(dump) == sorted(found[dump_id])


def test_parts_of_padding_sum_to_occupied_and_kinds_to_the_peak(example):
    """Numbers close: parts to occupied bytes, kinds to the occupied peak, all values to their slots."""
    open_rows = example.execute(
        """
        SELECT * FROM marts.padding_waste_v1
        WHERE element_bytes + layout_padding_bytes + slack_bytes + tuple_table_bytes <> occupied_bytes
            OR element_bytes_all_values + layout_padding_bytes_all_values + slack_bytes_all_values
                + tuple_table_bytes_all_values <> slot_bytes_all_values
        """
    ).fetchall()
    open_peaks = example.execute(
        """
        SELECT p.dump_id, p.memory_space FROM marts.peak_memory_v1 AS p JOIN marts.padding_waste_v1 AS w
            ON p.dump_id = w.dump_id AND p.memory_space = w.memory_space
        GROUP BY p.dump_id, p.memory_space, p.occupied_peak_bytes, p.reserved_bytes, p.thread_local_bytes
        HAVING SUM(w.occupied_bytes) <> p.occupied_peak_bytes
            OR SUM(w.reserved_bytes) <> p.reserved_bytes + p.thread_local_bytes
        """
    ).fetchall()
    assert ([], []) == (open_rows, open_peaks)


def assert_as_brute_force(laboratory: Warehouse, texts: list[bytes]) -> None:
    """Load dumps; compare peaks, the owners at them, balances of allocations and whole timelines with the oracle."""
    ids = load_texts(laboratory, texts)
    peaks, padding = by_dump(laboratory.con, PEAKS), by_dump(laboratory.con, PADDING)
    changes, timelines = by_dump(laboratory.con, CHANGES), by_dump(laboratory.con, TIMELINE)
    balances, owners = by_dump(laboratory.con, BALANCE), by_dump(laboratory.con, OWNERS)
    for dump_id, text in zip(ids, texts, strict=True):
        dump = oracle.read_dump(text.decode())
        assert timeline_of(dump) == timelines[dump_id], text.decode()
        assert [balance_of(dump, allocation) for allocation in dump["allocations"]] == balances[dump_id], text.decode()
        assert owners_of(dump) == owners.get(dump_id, []), text.decode()
        for row in balances[dump_id]:
            assert_closed(row)
        assert peaks_of(dump) == peaks[dump_id], text.decode()
        assert padding_of(dump) == sorted(padding[dump_id]), text.decode()
        for space in oracle.reserved(dump):
            own = {position: change for of, position, change in changes.get(dump_id, []) if of == space}
            timeline = list(accumulate(own.get(position, 0) for position in range(dump["max_position"] + 1)))
            assert oracle.occupied(dump, space) == timeline, text.decode()


def test_shared_bytes_are_counted_once_and_owned_once(laboratory):
    """However values of one allocation share bytes, the marts say what counting every byte says."""
    assert_as_brute_force(laboratory, [dump_text(own) for own in SHARING.values()])


def test_occupied_bytes_done_by_hand(laboratory):
    """A slot of 30 bytes inside a live one of 100 adds nothing; one that hangs over by 40 adds 40."""
    [dump_id] = load_texts(laboratory, [dump_text(SHARING["a slot inside another for several positions"])])
    assert [(0, 140, 0, 140, 4, 1, 150, 4)] == by_dump(laboratory.con, PEAKS)[dump_id]
    assert [(0, "temp", 1, 140, 2, 150, 140)] == [row[:7] for row in by_dump(laboratory.con, PADDING)[dump_id]]


# Not shrunk: an example is a load of many dumps, and the assertion that fails shows the one at fault.
@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(slots(), min_size=25, max_size=40), st.data())
def test_any_slots_give_the_figures_of_brute_force(laboratory, drawn, data):
    """Any slots, ranges and strides, many dumps a load; some values of every second one have no range.

    Then some bytes of an allocation are nobody's.
    """
    texts = [dump_text(own, MEMORY_SPACES) for own in drawn]
    for number, own in list(enumerate(drawn))[::2]:
        lost = data.draw(st.integers(0, 2 * len(own)))
        if lost < len(own):
            line = f"    v{lost}{{}}:{own[lost].start}-{own[lost].end}\n".encode()
            assert line in texts[number]
            texts[number] = texts[number].replace(line, b"")
    assert_as_brute_force(laboratory, texts)


def test_without_live_ranges_nothing_is_said_to_be_occupied_or_padding(laboratory):
    """A dump that stops behind its allocations has reserved bytes; what lives at its peak is unknown, not 0."""
    text = dump_text([Slot(0, 1, 0, 64)]).split(b"\n\n")[0] + b"\n"
    [dump_id] = load_texts(laboratory, [text])
    assert [(0, 64, 0, None, None, None, None, None)] == by_dump(laboratory.con, PEAKS)[dump_id]
    assert [(0, "temp", 1, 64, *[None] * 7, 1, 64, 64, 0, 0, 0)] == by_dump(laboratory.con, PADDING)[dump_id]


def test_thread_local_slots_are_never_occupied(laboratory):
    """They are taken once per thread, by what runs inside instructions: also where a dump gives them a range."""
    text = dump_text([Slot(0, 2, 0, 64), Slot(1, 2, 0, 8, 1)], [", thread-local", ", preallocated-temp"])
    [dump_id] = load_texts(laboratory, [text])
    assert [(0, 8, 64, 8, 1)] == [row[:5] for row in by_dump(laboratory.con, PEAKS)[dump_id]]
    found = {row[1]: (row[4], row[6]) for row in by_dump(laboratory.con, PADDING)[dump_id]}
    assert {"temp": (1, 8), "thread-local": (0, 0)} == found


def test_a_memory_space_where_nothing_lives_is_empty_not_unknown(laboratory):
    """A reserved space without a live slot has an occupied peak of 0 bytes at no position."""
    text = dump_text([Slot(0, 1, 0, 64)], [", preallocated-temp", ", color 1, preallocated-temp"])
    [dump_id] = load_texts(laboratory, [text])
    assert (1, 0, 0, 0, None, None, 0, None) == by_dump(laboratory.con, PEAKS)[dump_id][1]


# Of marts with a row for each value or position only these runs are kept; brute force looks at all of them.
LARGE = {
    "allocation_balance_v1",
    "allocation_map_v1",
    "buffer_lifetimes_v1",
    "buffer_lifetimes_v2",
    "memory_timeline_v1",
    "official_numbers_v1",
    "operands_v1",
    "padding_by_source_v1",
    "peak_buffers_v1",
}
OF_SOME_RUNS = """
    WHERE dump_id IN (
        SELECT o.dump_id FROM raw.observations AS o JOIN raw.runs AS r USING (run_id)
        WHERE r.run_name = 'seeds' OR o.module_name = 'jit_while_simple'
    )
"""


@pytest.fixture(scope="module")
def models() -> dict[str, project.Model]:
    """All models by their names."""
    return {model.name: model for model in project.read()}


@pytest.mark.parametrize("mart", sorted(path.stem for path in MODELS.glob("marts/*.sql")))
def test_results_over_the_fleet_are_as_committed(example, golden, models, mart):
    """What a mart says about the example fleet changes only on purpose, and its grain tells its rows apart."""
    model = models[f"marts.{mart}"]
    moments = {"loaded_at", "rejected_at"} & model.columns.keys()  # of the load that the test made
    shown = f"* EXCLUDE ({', '.join(moments)})" if moments else "*"
    cursor = example.execute(f"SELECT {shown} FROM marts.{mart} {OF_SOME_RUNS if mart in LARGE else ''} ORDER BY ALL")
    columns = [column[0] for column in cursor.description]
    rows = cursor.fetchall()
    # When these files were frozen an empty text was written as null is.
    frozen = [[None if cell == "" else cell for cell in row] for row in rows]
    golden(f"marts/{mart}.csv", formatted(columns, frozen, "csv") + "\n")
    places = [columns.index(name) for name in model.grain]
    assert len(rows) == len({tuple(row[place] for place in places) for row in rows})
