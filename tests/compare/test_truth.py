"""Blame names what was done: dumps with known edits, written, loaded and compared, byte for byte."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bufferhouse.compare import causes as C
from bufferhouse.compare.causes import blame
from bufferhouse.compare.compare import Compared, compare_pairs, compare_runs
from bufferhouse.compare.moments import moment_at
from bufferhouse.compare.pairing import Dump, Pair
from bufferhouse.compare.sizes import SizesOfDumps
from bufferhouse.compare.values import read_values
from bufferhouse.config.threshold import METRICS
from bufferhouse.dump import parse
from bufferhouse.dump.identity import content_of
from bufferhouse.warehouse.warehouse import Warehouse
from tests.compare.edits import (
    Subject,
    add_value,
    live,
    loosen,
    move,
    output,
    remove,
    rename,
    reshape,
    share,
    slacken,
    subject,
    text,
)
from tests.samples import of_fleet
from tests.warehouses import load_runs

# Lines without an end, one file, three files, tiles and several memory spaces.
DUMPS = {
    sample.name.split("/")[0]: parse(sample.files)
    for sample in of_fleet()
    if "mlp_train_step" in sample.name and sample.name.startswith(("jaxlib-0.4.25", "jaxlib-0.10", "tpu"))
}  # fmt: skip
SIZE = 40 * 24 * 4  # of the value that is edited
TILED = 40 * 128 * 4


def moved(one: Subject) -> None:
    move(one, 1)


def tile(one: Subject) -> None:
    reshape(one, "f32[40,24]{1,0:T(8,128)}")


def both(*edits: Callable[[Subject], None]) -> Callable[[Subject], None]:
    def edit(one: Subject) -> None:
        for each in edits:
            each(one)

    return edit


# What is done before and after (None: nothing), is the value alive at the peak; and for each metric the causes.
Edit = Callable[[Subject], None] | None
CASES: dict[str, tuple[Edit, Edit, bool, dict[str, dict[str, int]]]] = {
    "doubled": (None, lambda one: reshape(one, "f32[80,24]{1,0}"), True, {
        "reserved": {C.LOGICAL_SIZE: SIZE}, "occupied": {C.LOGICAL_SIZE: SIZE}, "temp": {C.LOGICAL_SIZE: SIZE}}),
    "halved": (lambda one: reshape(one, "f32[80,24]{1,0}"), None, True, {
        "reserved": {C.LOGICAL_SIZE: -SIZE}, "occupied": {C.LOGICAL_SIZE: -SIZE}}),
    "another element type": (None, lambda one: reshape(one, "f64[40,24]{1,0}"), True, {
        "reserved": {C.LOGICAL_SIZE: SIZE}, "occupied": {C.LOGICAL_SIZE: SIZE}}),
    "shares no longer": (share, None, True, {
        "reserved": {C.SHARING: SIZE}, "occupied": {C.SHARING: SIZE}, "temp": {C.SHARING: SIZE}}),
    "shares": (None, share, True, {"reserved": {C.SHARING: -SIZE}, "occupied": {C.SHARING: -SIZE}}),
    "lives to the peak": (None, lambda one: live(one, 0, one.peak), False, {
        "reserved": {C.LIVES_TO_PEAK: SIZE, C.PACKING: -SIZE}, "occupied": {C.LIVES_TO_PEAK: SIZE},
        "temp": {C.LIVES_TO_PEAK: SIZE, C.PACKING: -SIZE}}),
    "freed before": (None, lambda one: live(one, 0, one.peak - 1), True, {
        "reserved": {C.FREED_BEFORE: -SIZE, C.PACKING: SIZE}, "occupied": {C.FREED_BEFORE: -SIZE}}),
    "moved here": (moved, None, True, {"reserved": {C.MOVED_IN: SIZE}, "occupied": {C.MOVED_IN: SIZE}}),
    "moved away": (None, moved, True, {"reserved": {C.MOVED_OUT: -SIZE}, "occupied": {C.MOVED_OUT: -SIZE}}),
    "tiled": (None, tile, True, {
        "reserved": {C.LAYOUT_PADDING: TILED - SIZE}, "occupied": {C.LAYOUT_PADDING: TILED - SIZE}}),
    "another layout": (None, lambda one: reshape(one, "f32[40,24]{0,1}"), True, {}),
    "slack": (None, lambda one: slacken(one, 96), True, {
        "reserved": {C.SLOT_SLACK: 96}, "occupied": {C.SLOT_SLACK: 96}}),
    "new": (None, lambda one: add_value(one.dump, "more", 999, one.peak, one.peak), True, {
        "reserved": {C.ONLY_AFTER: 999}, "occupied": {C.ONLY_AFTER: 999}, "temp": {C.ONLY_AFTER: 999}}),
    "gone": (None, remove, True, {"reserved": {C.ONLY_BEFORE: -SIZE}, "occupied": {C.ONLY_BEFORE: -SIZE}}),
    "packed worse": (None, lambda one: loosen(one, 4096), True, {"reserved": {C.PACKING: 4096}, "occupied": {},
                                                                 "temp": {C.PACKING: 4096}}),
    "an output": (None, output, True, {"reserved": {}, "occupied": {}, "temp": {C.KIND: -SIZE},
                                       "footprint": {"temporaries": -SIZE, "outputs": SIZE}}),
    "tiled, with slack and doubled": (None, both(
        lambda one: reshape(one, "f32[80,24]{1,0:T(8,128)}"), lambda one: slacken(one, 64)), True, {
        "occupied": {C.LOGICAL_SIZE: SIZE, C.LAYOUT_PADDING: 2 * (TILED - SIZE), C.SLOT_SLACK: 64}}),
}  # fmt: skip


@dataclass
class Edited:
    """A warehouse in memory with a run for each side of each case and dialect, and one with renamed dumps."""

    con: duckdb.DuckDBPyConnection
    ids: dict[str, int]
    rows: dict[tuple[str, str, str, int], Compared]

    def run_id(self, name: str) -> int:
        """The run of that name."""
        [[run_id]] = self.con.execute("SELECT run_id FROM raw.runs WHERE run_name = $1", [name]).fetchall()
        return run_id


@pytest.fixture(scope="module")
def edited() -> Iterator[Edited]:
    subjects = {(name, alive): subject(dump, is_alive=alive) for name, dump in DUMPS.items() for alive in (True, False)}
    runs: dict[str, list[dict[str, bytes]]] = {}
    for (case, (before, after, alive, _)), dialect in itertools.product(CASES.items(), DUMPS):
        for side, edit in (("before", before), ("after", after)):
            one = subjects[dialect, alive].copy()
            if edit:
                edit(one)
            runs[f"{dialect} {case} {side}"] = [text(one.dump)]
    for name, dump in DUMPS.items():
        runs[f"{name} renamed before"], runs[f"{name} renamed after"] = [text(dump)], [text(rename(dump))]
    several = [subjects["jaxlib-0.10.0", True].copy() for _ in range(6)]
    for count, one in zip((64, 5000, 70000, 96, 5096, 70096), several, strict=True):
        slacken(one, count)
    same = text(subjects["jaxlib-0.10.0", True].dump)
    runs["several before"] = [same, *(text(one.dump) for one in several[:3])]
    runs["several after"] = [*(text(one.dump) for one in several[:2:-1]), same]
    ids = {name: content_of(dumps[0]).dump_id for name, dumps in runs.items()}
    with Warehouse(None) as warehouse:
        load_runs(warehouse, runs)
        yield Edited(warehouse.con, ids, _compared(warehouse.con, ids))


def _compared(con: duckdb.DuckDBPyConnection, ids: dict[str, int]) -> dict[tuple[str, str, str, int], Compared]:
    """All cases at once, as one at a time would ask the marts as often."""
    about = (1, "jit_f", "cpu", "cpu", 1)
    pairs = {
        (dialect, case): Pair(*(Dump(ids[f"{dialect} {case} {side}"], *about) for side in ("before", "after")), False)
        for dialect, case in itertools.product(DUMPS, CASES)
    }
    sizes = SizesOfDumps(con, ids.values())
    rows = {metric: compare_pairs(con, set(pairs.values()), sizes, metric=metric) for metric in METRICS}
    by_pair = {(row.pair, metric, row.memory_space): row for metric, found in rows.items() for row in found}
    return {
        (*name, metric, space): by_pair[pair, metric, space]
        for name, pair in pairs.items()
        for metric in METRICS
        for space in sizes.memory_spaces(*(dump.dump_id for dump in pair[:2]))
    }


@pytest.mark.parametrize("dialect", DUMPS)
@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_what_was_done(edited: Edited, dialect: str, case: str):
    """Exactly the causes of the edit are named, each once and with its bytes, and they are about the edited value."""
    for metric, expected in CASES[case][3].items():
        row = edited.rows[dialect, case, metric, 0]
        assert sorted(expected.items()) == sorted((cause.cause, cause.size_bytes) for cause in row.causes)
        assert sum(expected.values()) == row.delta_bytes
        for cause in row.causes:
            names = {value.instruction_name for value in (cause.before, cause.after) if value}
            assert len(names) == (cause.cause not in (C.PACKING, "temporaries", "outputs"))
    if not CASES[case][3]:
        assert "unchanged" == edited.rows[dialect, case, "reserved", 0].status


@pytest.mark.parametrize("case", ["moved here", "moved away"])
def test_a_move_is_seen_in_both_memory_spaces(edited: Edited, case: str):
    """What leaves one memory space for another is named in both, with the other one."""
    one, other = (edited.rows["jaxlib-0.10.0", case, "occupied", space] for space in (0, 1))
    assert one.delta_bytes == -other.delta_bytes != 0
    for row in (one, other):
        [cause] = row.causes
        assert 1 - row.memory_space == {C.MOVED_IN: cause.before, C.MOVED_OUT: cause.after}[cause.cause].memory_space


def test_several_dumps_of_a_program_are_each_compared(edited: Edited):
    """Equal contents first; of the rest the largest with the largest, marked as ambiguous, each with its own cause."""
    rows = compare_runs(edited.con, edited.run_id("several before"), edited.run_id("several after"))
    sizes = sorted((row.before_bytes, row.delta_bytes, row.pair.is_ambiguous, row.status) for row in rows)
    least = sizes[0][0]
    assert [
        (least, 0, False, "unchanged"), (least + 64, 32, True, "changed"),
        (least + 5000, 96, True, "changed"), (least + 70000, 96, True, "changed"),
    ] == sizes  # fmt: skip
    for row in rows:
        assert [(C.SLOT_SLACK, row.delta_bytes)] * bool(row.delta_bytes) == [
            (c.cause, c.size_bytes) for c in row.causes
        ]


@pytest.mark.parametrize("dialect", DUMPS)
def test_names_of_instructions_mean_nothing(edited: Edited, dialect: str):
    """Between a dump and itself with all instructions renamed every value is matched, and there is no cause."""
    ids = [edited.ids[f"{dialect} renamed {side}"] for side in ("before", "after")]
    values = read_values(edited.con, ids)
    peaks = edited.con.execute(
        "SELECT memory_space, occupied_peak_position FROM marts.peak_memory_v1"
        f" WHERE dump_id = {ids[0]} AND occupied_peak_bytes > 0"
    ).fetchall()
    assert peaks
    for space, position in peaks:
        sides = [[value for value in values[dump_id] if value.memory_space == space] for dump_id in ids]
        assert not {value.instruction_name for value in sides[0]} & {value.instruction_name for value in sides[1]}
        before, after = (moment_at(side, position) for side in sides)
        blamed = blame(before, after, values[ids[0]], values[ids[1]], space)
        assert ([], [], []) == (blamed.causes, blamed.gone, blamed.new)
        assert len(before.alive) == len(blamed.matches) > 0


# In an order in which each may follow any other.
EDITS: dict[str, Callable[[Subject], None]] = {
    "double": lambda one: reshape(one, "f32[80,24]{1,0}"),
    "tile": tile,
    "slacken": lambda one: slacken(one, 96),
    "loosen": lambda one: loosen(one, 4096),
    "output": output,
    "move": moved,
    "share": share,
    "shorten": lambda one: live(one, 0, one.peak - 1),
    "extend": lambda one: live(one, 0, one.dump.max_position),
    "add": lambda one: add_value(one.dump, "more", 999, one.peak - 3, one.peak),
    "outgrow": lambda one: add_value(one.dump, "peak", 2**25, 2, 3, shape="f32[8388608]{0}"),
    "add elsewhere": lambda one: add_value(one.dump, "there", 64, 0, one.peak, memory_space=1),
    "remove": remove,
}  # fmt: skip
COMBINATIONS = st.tuples(*[st.sets(st.sampled_from(sorted(EDITS)), max_size=5)] * 2)


def edited_text(one: Subject, names: set[str]) -> dict[str, bytes]:
    """A dump after some edits."""
    one = one.copy()
    for name, edit in EDITS.items():
        if name in names:
            edit(one)
    return text(one.dump)


@settings(max_examples=1, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(COMBINATIONS, min_size=20, max_size=20), st.sampled_from(sorted(DUMPS)))
def test_the_causes_sum_to_the_change(combinations: list[tuple[set[str], set[str]]], dialect: str):
    """Whatever is done before and after, for each metric the causes sum to what the marts say changed."""
    one = subject(DUMPS[dialect])
    dumps = [[edited_text(one, names) for names in pair] for pair in combinations]
    with Warehouse(None) as warehouse:
        load_runs(warehouse, {f"run {n}": pair for n, pair in enumerate(dumps)})
        ids = [[content_of(files).dump_id for files in pair] for pair in dumps]
        sizes = SizesOfDumps(warehouse.con, {dump_id for pair in ids for dump_id in pair})
        pairs = {Pair(*(Dump(dump_id, 1, "jit_f", "cpu", "cpu", 1) for dump_id in pair), False) for pair in ids}
        said = dict.fromkeys(itertools.product({key for pair in ids for key in pair}, (0, 1, 2, 6), METRICS), 0)
        for dump_id, space, reserved, occupied, temp in warehouse.con.execute(
            "SELECT p.dump_id, p.memory_space, p.reserved_bytes, p.occupied_peak_bytes, f.temp_bytes"
            " FROM marts.peak_memory_v1 AS p JOIN marts.footprint_v1 AS f USING (dump_id, memory_space)"
        ).fetchall():
            for metric, figure in zip(METRICS, (reserved, occupied, temp, reserved), strict=True):
                said[dump_id, space, metric] = figure
        for metric in METRICS:
            rows = compare_pairs(warehouse.con, pairs, sizes, metric=metric)
            assert len(rows) >= len(pairs)
            for row in rows:
                old, new = (said[dump.dump_id, row.memory_space, metric] for dump in row.pair[:2])
                assert (old, new) == (row.before_bytes, row.after_bytes)
                assert new - old == sum(cause.size_bytes for cause in row.causes)
                assert all(cause.size_bytes for cause in row.causes)
