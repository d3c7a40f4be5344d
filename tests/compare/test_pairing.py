"""Which dumps of two runs are compared: equal contents, then by size, and what could be otherwise is marked."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bufferhouse.compare.pairing import Dump, pair_up


def dump(dump_id: int, *, program: int = 1, target: str | None = "cpu", count: int = 1) -> Dump:
    return Dump(dump_id, program, f"jit_{program}", "cpu", target, count)


def paired(before: list[Dump], after: list[Dump]) -> set[tuple]:
    """The pairs by dump_id, of dumps whose size is their id, each with whether it is ambiguous."""
    sizes = {one.dump_id: one.dump_id for one in (*before, *after)}
    found = pair_up(before, after, sizes)
    pairs = {(pair.before and pair.before.dump_id, pair.after and pair.after.dump_id, pair.is_ambiguous)
             for pair in found}  # fmt: skip
    assert len(pairs) == len(found)
    return pairs


def test_one_dump_on_each_side_is_a_pair():
    """Of each program by itself; what is on one side only is new or gone, and nothing of it is ambiguous."""
    before, after = [dump(1), dump(2, program=2)], [dump(3), dump(4, program=3)]
    assert {(1, 3, False), (2, None, False), (None, 4, False)} == paired(before, after)


def test_equal_contents_first_then_the_largest():
    """A content that both runs have is compared with itself; the rest from the largest down, marked as ambiguous."""
    before, after = [dump(10), dump(20), dump(30)], [dump(20), dump(15), dump(40), dump(5)]
    assert {(20, 20, False), (30, 40, True), (10, 15, True), (None, 5, True)} == paired(before, after)
    assert {(20, 20, False), (10, 11, False)} == paired([dump(20), dump(10)], [dump(11), dump(20)])


def test_within_a_compile_target_before_across():
    """Dumps of one target belong together whatever their size; where that tells them apart, nothing is ambiguous."""
    before = [dump(10), dump(20, target="sm_9.0")]
    after = [dump(21), dump(11, target="sm_9.0")]
    assert {(10, 21, False), (20, 11, False)} == paired(before, after)
    assert {(10, 11, False)} == paired([dump(10)], [dump(11, target="sm_9.0")])
    assert {(10, 11, False), (20, 12, False)} == paired(
        [dump(10), dump(20, target=None)], [dump(11), dump(12, target="sm_8.0")]
    )


def test_a_repeat_may_have_become_another_content():
    """A program that a run has twice and the next in two contents has changed once; one that was seen once has not."""
    assert {(1, 1, False), (1, 2, True)} == paired([dump(1, count=2)], [dump(1), dump(2)])
    assert {(1, 1, False), (2, 1, True)} == paired([dump(1), dump(2)], [dump(1, count=2)])
    assert {(2, 2, False), (None, 1, False)} == paired([dump(2)], [dump(1), dump(2)])
    assert {(1, 1, False)} == paired([dump(1, count=9)], [dump(1)])


def test_the_largest_of_both_runs_are_compared():
    """A program that is compiled once more, larger, has grown, also where the content of before is still there."""
    assert {(1, 1, False), (1, 2, True)} == paired([dump(1)], [dump(1), dump(2)])
    assert {(1, 1, False), (2, 1, True)} == paired([dump(1), dump(2)], [dump(1)])
    assert {(1, 1, False), (1, 9, True), (None, 5, False)} == paired([dump(1)], [dump(1), dump(5), dump(9)])
    assert {(1, 1, False), (None, 2, False)} == paired([dump(1)], [dump(1), dump(2, target="sm_9.0")])


def alike(side: list[Dump], one: Dump) -> list[Dump]:
    """The dumps of a program and target; without sizes the first of them counts as the largest."""
    return [other for other in side if (other.program_id, other.compile_target) == (one.program_id, one.compile_target)]


DUMPS = st.lists(
    st.builds(dump, st.integers(1, 9), program=st.integers(1, 2), target=st.sampled_from(["cpu", "sm_9.0", None])),
    max_size=8,
    unique_by=lambda one: (one.program_id, one.dump_id),
)


@given(DUMPS, DUMPS)
def test_every_dump_is_in_a_pair(before: list[Dump], after: list[Dump]):
    """Once, but for the largest of a target; turned round, the pairs are turned round; as many as can be are made."""
    found = pair_up(before, after, {})
    for side, paired_ones in ((before, [pair.before for pair in found]), (after, [pair.after for pair in found])):
        counts = Counter(filter(None, paired_ones))
        assert set(side) == counts.keys()
        twice = [one for one, count in counts.items() for _ in range(count - 1)]
        assert set(twice) <= {min(alike(side, one), key=lambda other: other.dump_id) for one in twice}
        assert len(twice) == len(set(twice))
    back = pair_up(after, before, {})
    assert {(pair.before, pair.after) for pair in found} == {(pair.after, pair.before) for pair in back}
    for program in (1, 2):
        sides = [[one for one in side if one.program_id == program] for side in (before, after)]
        full = [pair for pair in found if pair.any.program_id == program and pair.before and pair.after]
        assert min(map(len, sides)) <= len(full) <= max(map(len, sides))
