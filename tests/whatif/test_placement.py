"""Where slots stand after edits: a byte is taken once at each moment, and as many are as the timeline says."""

import random

from bufferhouse.whatif.edits import Edit
from bufferhouse.whatif.outcome import Outcome, compute
from bufferhouse.whatif.plan import NoCandidate, Plan
from bufferhouse.whatif.slots import timeline
from bufferhouse.whatif.space import Space
from tests.whatif.arenas import LAST, possible_edits, random_space, space_without_arena


def taken(outcome: Outcome, position: int) -> set[tuple[int, int]]:
    """The bytes of allocations that hold a slot at a position."""
    place = outcome.placement
    slots = zip(place.allocation, place.offset_bytes, place.size_bytes, place.start, place.end, strict=True)
    return {
        (allocation, byte)
        for allocation, offset, size, start, end in slots
        if start <= position <= end
        for byte in range(offset, offset + size)
    }


def check(space: Space, edits: list[Edit]) -> bool:
    """Compare the placement after edits with the timeline, byte by byte; False where they are not possible."""
    try:
        outcome = compute(space, edits)
    except NoCandidate:
        return False
    plan = Plan(space).apply(edits)
    line = timeline(plan.with_copies() if plan.copies else plan.slots)
    for position in range(LAST + 1):
        assert line.at(position) == len(taken(outcome, position)), (edits, position)
    sizes = {index: size for index, _, size in outcome.placement.allocations}
    arena = sum(size for _, kind, size in outcome.placement.allocations if kind == "temp")
    assert (outcome.after.arena_high_bytes, outcome.after.other_bytes) == (arena, sum(sizes.values()) - arena)
    return True


def test_no_byte_is_taken_twice():
    """Random arenas, every single edit, and several together."""
    done = 0
    for seed in range(40):
        random_ = random.Random(seed)
        space = random_space(random_)
        edits = possible_edits(space, random_)
        done += sum(check(space, [edit]) for edit in edits)
        check(space, [])
        some = {edit.value: edit for edit in random_.sample(edits, 3)}
        done += check(space, list(some.values()))
        # A donated value that may be copied, beside values that have several slots.
        donated = [edit for edit in edits if edit.kind == "donate"]
        several = [edit for edit in edits if edit.kind in ("remat", "offload", "remove")]
        done += sum(check(space, [one, other]) for one in donated for other in several if one.value != other.value)
    assert done > 600


def test_an_output_in_the_place_of_a_parameter_adds_nothing():
    """Neither as it is nor narrowed: the allocation stays that of the parameter."""
    space = space_without_arena(("parameter", 12, 0, "f32[3]{0}"), ("output", 12, LAST - 1, "f32[3]{0}"))
    for more in ([], [Edit("shrink", "v1", dtype="bf16")]):
        outcome = compute(space, [Edit("donate", "v0"), *more])
        assert [(0, "parameter", 12)] == outcome.placement.allocations
        assert 12 == outcome.after.reserved_high_bytes
