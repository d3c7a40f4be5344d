"""What changes of all programs come to, by what their values have in common."""

import pytest

from bufferhouse.compare.causes import LAYOUT_PADDING, LOGICAL_SIZE, ONLY_AFTER, ONLY_BEFORE, PACKING, Cause
from bufferhouse.compare.compare import CHANGED, Compared
from bufferhouse.compare.pairing import Dump, Pair
from bufferhouse.compare.rollup import GROUPINGS, rolled_up
from tests.compare.values import value

OLD = value(
    opcode="add", op_name="jit(f)/jit(main)/layer/block/head/add[a=1]", source_file="m.py", source_line=7,
    shape_text="f32[8,128]{1,0:T(8,128)}", element_type="f32",
)  # fmt: skip
NEW = OLD._replace(element_type="bf16", source_line=8, op_name="jit(f)/layer/block/head/add")
TUPLE = value(shape_text="(f32[2]{0:T(8)})", element_type=None)


def row(program_id: int, *causes: Cause) -> Compared:
    dump = Dump(program_id, program_id, "jit_f", "cpu", "cpu", 1)
    pair = Pair(dump, dump._replace(dump_id=-program_id), False)
    return Compared(pair, 0, CHANGED, None, None, None, 0, sum(cause.size_bytes for cause in causes), causes)


NO_VALUE = f"({PACKING})"
ROWS = [
    row(1, Cause(LOGICAL_SIZE, -100, "x", OLD, NEW), Cause(ONLY_AFTER, 30, None, None, TUPLE), Cause(PACKING, 5)),
    row(2, Cause(ONLY_BEFORE, -7, None, OLD, None), Cause(LOGICAL_SIZE, 40, "x", OLD, NEW)),
    row(3),
]


@pytest.mark.parametrize("by", GROUPINGS)
def test_groups_sum_to_the_changes(by: str):
    """Every cause is in one group: the deltas sum to the changes, and what rose and what fell to the delta."""
    groups = rolled_up(ROWS, by)
    assert sum(one.delta_bytes for one in ROWS) == sum(group["delta_bytes"] for group in groups)
    for group in groups:
        assert group["delta_bytes"] == group["risen_bytes"] + group["fallen_bytes"]
        assert group["risen_bytes"] >= 0 >= group["fallen_bytes"]
    assert len(groups) == len({group["group"] for group in groups})
    sizes = [abs(group["delta_bytes"]) for group in groups]
    assert sorted(sizes, reverse=True) == sizes


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("cause", {LOGICAL_SIZE: -60, ONLY_AFTER: 30, ONLY_BEFORE: -7, PACKING: 5}),
        ("op_name", {"jit(f)/layer/block": -67, "(none)": 30, NO_VALUE: 5}),
        ("source", {"m.py:8": -60, "m.py:7": -7, "(none)": 30, NO_VALUE: 5}),
        ("opcode", {"add": -67, "(none)": 30, NO_VALUE: 5}),
        ("element_type", {"bf16": -60, "f32": -7, "tuple": 30, NO_VALUE: 5}),
        ("tile", {"T(8,128)": -67, "(none)": 30, NO_VALUE: 5}),
    ],
)
def test_a_cause_belongs_to_the_value_after(by: str, expected: dict[str, int]):
    """Or to the value before where there is no value after; a cause without a value is a group of its own."""
    assert expected == {group["group_label"]: group["delta_bytes"] for group in rolled_up(ROWS, by)}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("cause", {"logical size", "only after", "only before", "packing"}),
        ("opcode", {"add", "(none)", "(packing)"}),
    ],
)
def test_groups_keep_their_former_names(by: str, expected: set[str]):
    """For one release `group` holds the words that scripts know, beside `group_label`."""
    assert expected == {group["group"] for group in rolled_up(ROWS, by)}


def test_programs_and_values_are_counted():
    """A program counts once in a group, and so does a value, or a pair of values, whatever causes it has."""
    [group] = [group for group in rolled_up(ROWS, "cause") if group["group_label"] == LOGICAL_SIZE]
    assert (2, 2, 40, -100) == tuple(
        group[key] for key in ("program_count", "value_count", "risen_bytes", "fallen_bytes")
    )
    padded = [row(4, *(Cause(cause, 1, "x", OLD, NEW) for cause in (LOGICAL_SIZE, LAYOUT_PADDING)))]
    assert [(1, 1)] == [(group["program_count"], group["value_count"]) for group in rolled_up(padded, "opcode")]
    [group] = [group for group in rolled_up(ROWS, "cause") if group["group_label"] == PACKING]
    assert (1, 0) == (group["program_count"], group["value_count"])
    assert [] == rolled_up([row(3)], "cause")
