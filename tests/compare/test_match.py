"""Values of two compilations are paired surely before they are paired at all; leftovers are looked for elsewhere."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bufferhouse.compare import causes as C
from bufferhouse.compare.causes import blame
from bufferhouse.compare.match import look_up, match, rest_of
from bufferhouse.compare.signature import Step
from bufferhouse.compare.tiers import SUBSTITUTED
from tests.compare.values import PROGRAMS, fill, value

ADD = {"opcode": "add", "op_name": "jit(f)/add", "shape_text": "f32[16]{0}"}


def pairs(before: list, after: list) -> list[tuple]:
    """The pairs of two sides that are all that there is."""
    return [tuple(pair) for pair in match(before, after, before, after)[0]]


def test_a_sure_match_comes_before_a_likely_one():
    """Whatever the order, what has the same op_name is paired, and what is left by shape alone, marked so."""
    one, other = value(**ADD), value(shape_text="f32[16]{0}")
    same, substitute = value(**ADD | {"opcode": "fusion"}), value(shape_text="f32[16]{0:T(8)}")
    for after in ([same, substitute], [substitute, same]):
        assert [(one, same, "op_name and shape"), (other, substitute, SUBSTITUTED)] == pairs([one, other], after)


def test_of_one_key_equal_sizes_first_then_in_order():
    """Values with one key are paired by size, and those without an equal in the order in which they start."""
    before = [value(64, 5, **ADD), value(80, 1, **ADD), value(96, 3, **ADD)]
    after = [value(72, 4, **ADD), value(80, 7, **ADD), value(88, 2, **ADD)]
    found = {(one.size_bytes, other.size_bytes) for one, other, _ in pairs(before, after)}
    assert {(80, 80), (96, 88), (64, 72)} == found


def test_another_shape_only_where_it_is_the_one():
    """An operation whose shape changed is matched if that is all that changed in its like, alive at the peak or not."""
    old, new = value(**ADD), value(**ADD | {"shape_text": "f32[32]{0}"})
    assert [(old, new, "op_name and opcode, the only other shape")] == pairs([old], [new])
    again = value(**ADD | {"shape_text": "f32[48]{0}"})
    assert ([], [old], [new]) == match([old], [new], [old], [new, again])
    # Others of its like, equal in both programs, are no hindrance.
    found = match([old], [new], [old, again], [new, again])[0]
    assert [(old, new)] == [(pair.before, pair.after) for pair in found]


@settings(max_examples=40, deadline=None)
@given(PROGRAMS, PROGRAMS)
def test_every_value_is_matched_once_or_left(before: list, after: list):
    """Pairs and leftovers hold each value once; what is left on both sides has no shape in common."""
    matches, gone, new = match(before, after, before, after)
    assert Counter(before) == Counter([*(pair.before for pair in matches), *gone])
    assert Counter(after) == Counter([*(pair.after for pair in matches), *new])
    back = match(after, before, after, before)[0]
    assert Counter((pair.before, pair.tier) for pair in matches) == Counter((pair.after, pair.tier) for pair in back)


@settings(max_examples=60, deadline=None)
@given(PROGRAMS, PROGRAMS, st.integers(0, 10), st.integers(0, 10), st.sampled_from([None, ("temp",)]))
def test_the_causes_sum_to_what_is_owned(before: list, after: list, old_at: int, new_at: int, kinds):
    """At any two positions of any two programs, of all kinds of allocations or of some, and turned round they flip."""
    for space in (0, 1):
        sides = fill(before, old_at, space), fill(after, new_at, space)
        found = blame(*sides, before, after, space, kinds)
        owned = [
            sum(side.owned[one.value_id] for one in side.alive if kinds is None or one.kind in kinds) for side in sides
        ]
        assert owned[1] - owned[0] == sum(cause.size_bytes for cause in found.causes)
        assert all(cause.size_bytes for cause in found.causes if cause.before and cause.after and cause.tier)
        likes = [one.like for one in (*found.gone, *found.new) if one.like]
        assert len(likes) == len(set(likes))
        assert not set(likes) & {*sides[0].alive, *sides[1].alive}


def test_a_leftover_is_looked_for_in_its_own_memory_space_first():
    """Of equal likes the one in the same space counts; without any it is nowhere."""
    here, there = value(**ADD, start=5), value(**ADD, memory_space=1)
    left = value(**ADD, start=20, end=20)
    nowhere = value(shape_text="s8[3]{0}", start=20, end=20)
    own, other = rest_of([left, nowhere], 0, [left, nowhere]), rest_of([there, here], 0, [])
    assert [(left, here, "op_name and shape"), (nowhere, None, None)] == [
        tuple(one) for one in look_up([left, nowhere], own, other)
    ]


def test_a_like_is_that_of_one_leftover():
    """Two leftovers cannot both have lived on in one value, though a sure and a likely tier lead to it."""
    sure, likely = value(**ADD), value(**ADD | {"op_name": "jit(f)/other/add"})
    like = value(**ADD, start=20, end=20)
    found = look_up([likely, sure], rest_of([sure, likely], 0, [sure, likely]), rest_of([like], 0, []))
    assert {sure: like, likely: None} == {one.value: one.like for one in found}


def test_what_both_programs_have_elsewhere_is_no_like():
    """A value that the own program has there too belongs to that one: the leftover is new."""
    left, own, other = value(**ADD), value(**ADD, start=20, end=20), value(**ADD, start=20, end=20)
    [found] = look_up([left], rest_of([left, own], 0, [left]), rest_of([other], 0, []))
    assert found.like is None


def test_a_leftover_may_have_the_shape_that_the_signatures_explain():
    """With a batch twice as large a buffer of twice the size that lives elsewhere is not new, nor is the other gone."""
    at, elsewhere = {"start": 3, "end": 3}, {"start": 7, "end": 7}
    tanh = {"opcode": "fusion", "op_name": "jit(f)/tanh"}
    small, large, odd = ({**tanh, "shape_text": f"f32[{rows},8]{{1,0}}"} for rows in (16, 32, 24))
    changes = [Step(0, 2, 16, 32)]
    for shape, new, gone in ((large, C.LIVES_TO_PEAK, C.FREED_BEFORE), (odd, C.ONLY_AFTER, C.ONLY_BEFORE)):
        before, after = [value(**small, **elsewhere)], [value(128, **shape, **at)]
        [cause] = blame(fill(before, 3), fill(after, 3), before, after, 0, changes=changes).causes
        assert (new, 128) == (cause.cause, cause.size_bytes)
        before, after = [value(**small, **at)], [value(128, **shape, **elsewhere)]
        [cause] = blame(fill(before, 3), fill(after, 3), before, after, 0, changes=changes).causes
        assert (gone, -64) == (cause.cause, cause.size_bytes)


def test_where_a_leftover_was():
    """It lived on, was freed, moved in or out, or is on one side only."""
    at = {"start": 3, "end": 3}
    elsewhere = value(**ADD, start=7, end=7)
    moved = value(**ADD, memory_space=1)
    for rest, new, gone in (
        ([elsewhere], C.LIVES_TO_PEAK, C.FREED_BEFORE),
        ([moved], C.MOVED_IN, C.MOVED_OUT),
        ([], C.ONLY_AFTER, C.ONLY_BEFORE),
    ):
        alone = [value(**ADD, **at)]
        [cause] = blame(fill(rest, 3), fill(alone, 3), rest, alone, 0).causes
        assert (new, 64) == (cause.cause, cause.size_bytes)
        [cause] = blame(fill(alone, 3), fill(rest, 3), alone, rest, 0).causes
        assert (gone, -64) == (cause.cause, cause.size_bytes)
