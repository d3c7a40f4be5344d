"""Which allocations hold values that share bytes in more than passing."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bufferhouse.dump import parse
from bufferhouse.dump.columns import Dumps
from bufferhouse.tabulate.tabulator import overlaps, strict_overlaps
from tests.synthetic import Slot, dump_text

CASES = {
    "apart in address": ([(0, 9, 0, 8), (0, 9, 8, 16)], False),
    "apart in time": ([(0, 3, 0, 8), (4, 9, 0, 8)], False),
    "touching": ([(0, 3, 0, 8), (3, 9, 0, 8)], False),
    "touching in part": ([(0, 3, 0, 8), (3, 9, 4, 12)], False),
    "touching twice": ([(0, 3, 0, 8), (0, 3, 8, 16), (3, 9, 4, 12)], False),
    "an instant at the end of another": ([(0, 3, 0, 8), (3, 3, 0, 8)], False),
    "alive on": ([(0, 4, 0, 8), (3, 9, 0, 8)], True),
    "one byte": ([(0, 4, 0, 8), (3, 9, 7, 12)], True),
    "around a shorter range": ([(0, 9, 0, 8), (3, 4, 0, 8)], True),
    "around a smaller slot": ([(0, 4, 0, 100), (3, 9, 40, 50)], True),
    "starting together": ([(3, 3, 0, 8), (3, 9, 0, 8)], True),
    "at one instant": ([(3, 3, 0, 8), (3, 3, 0, 8)], True),
    "an instant within another's range": ([(0, 9, 0, 8), (3, 3, 0, 8)], True),
}


@pytest.mark.parametrize("name", CASES)
def test_overlaps_by_hand(name):
    """Only where the first ends at the very position at which the second starts may two values share bytes."""
    slots, expected = CASES[name]
    assert expected == overlaps(slots)
    assert expected == overlaps(slots[::-1])


def shares_more_than_an_instant(first: tuple, second: tuple) -> bool:
    (start, end, low, high), (other_start, _, other_low, other_high) = sorted([first, second])
    is_shared = low < other_high and other_low < high and other_start <= end
    return is_shared and not (start < other_start == end)


SLOTS = st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 12), st.integers(1, 6)).map(
    lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2], drawn[2] + drawn[3])
)


@given(st.lists(SLOTS, max_size=7))
def test_overlaps_of_any_slots_are_those_of_all_pairs(slots):
    """The sweep says what looking at every pair says."""
    expected = any(shares_more_than_an_instant(*pair) for pair in combinations(slots, 2))
    assert expected == overlaps(slots)


def test_each_allocation_is_judged_by_its_own_values():
    """Values without bytes or without a live range take none, and those of other allocations lie elsewhere."""
    slots = [
        *(Slot(0, 5, 0, 8, 0), Slot(2, 4, 4, 8, 0)),
        *(Slot(0, 5, 0, 8, 1), Slot(5, 6, 0, 8, 1)),
        *(Slot(0, 5, 0, 8, 2), Slot(2, 4, 4, 0, 2)),
    ]
    text = dump_text(slots, [", preallocated-temp"] * 3 + [", maybe-live-out"])
    assert [True, False, False, False] == strict_overlaps(Dumps.of(parse(text)))
    without_range = text.replace(b"    v1{}:2-4\n", b"")
    assert [False] * 4 == strict_overlaps(Dumps.of(parse(without_range)))
