"""Facts beside the causes: whether the peak moved, and how many values start in another order."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bufferhouse.compare.causes import Blame
from bufferhouse.compare.moments import Moment, moment_at
from bufferhouse.compare.tiers import SUBSTITUTED
from bufferhouse.compare.values import Value


class Peaks(NamedTuple):
    """The positions of both peaks, and how similar the programs are there.

    `before_like_position` is the position of the program before that is most like the peak after, and
    `before_like_bytes` its occupied bytes. If it is the peak before itself, the peak did not move. `after_like_*` are
    the same with the sides exchanged. `matched_bytes` are owned by both sides in matched values. `reordered_count` of
    the `ordered_count` matched values start in another order.
    """

    before_position: int
    after_position: int
    before_like_position: int
    before_like_bytes: int
    after_like_position: int
    after_like_bytes: int
    matched_bytes: int
    ordered_count: int
    reordered_count: int


def describe(
    before: Moment, after: Moment, before_values: Sequence[Value], after_values: Sequence[Value], found: Blame
) -> Peaks:
    """Return the facts about two moments; the values are those of one memory space."""
    # The values alive at one peak, as found in the other program: it is most like that peak where most of them live.
    in_before = [(pair.before, after.owned[pair.after.value_id]) for pair in found.matches]
    in_before += [(one.like, after.owned[one.value.value_id]) for one in found.new if one.is_here]
    in_after = [(pair.after, before.owned[pair.before.value_id]) for pair in found.matches]
    in_after += [(one.like, before.owned[one.value.value_id]) for one in found.gone if one.is_here]
    before_like = _most_covered(in_before, before.position)
    after_like = _most_covered(in_after, after.position)
    moved = [
        (pair.before.start_position, pair.after.start_position)
        for pair in found.matches
        if pair.tier != SUBSTITUTED and not pair.before.parameter
    ]
    return Peaks(
        before.position,
        after.position,
        before_like,
        sum(moment_at(before_values, before_like).owned.values()),
        after_like,
        sum(moment_at(after_values, after_like).owned.values()),
        sum(min(before.owned[pair.before.value_id], after.owned[pair.after.value_id]) for pair in found.matches),
        len(moved),
        len(moved) - _longest_rising(start for _, start in sorted(moved)),
    )


def _most_covered(intervals: Iterable[tuple[Value, int]], otherwise: int) -> int:
    """Return the position with the most bytes alive; of equal positions `otherwise`, else the first."""
    changes: dict[int, int] = {}
    for value, size in intervals:
        changes[value.start_position] = changes.get(value.start_position, 0) + size
        changes[value.end_position + 1] = changes.get(value.end_position + 1, 0) - size
    covered, best, best_position, at_otherwise = 0, 0, otherwise, 0
    for position in sorted(changes):
        covered += changes[position]
        if position <= otherwise:
            at_otherwise = covered
        if covered > best:
            best, best_position = covered, position
    return otherwise if at_otherwise == best else best_position


def _longest_rising(numbers: Iterable[int]) -> int:
    """Return the length of the longest subsequence that never decreases."""
    tails: list[int] = []
    for number in numbers:
        place = bisect_right(tails, number)
        tails[place : place + 1] = [number]
    return len(tails)
