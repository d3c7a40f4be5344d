"""The moments of their peaks at which two compilations are compared."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence
from math import isqrt
from typing import NamedTuple

from bufferhouse.compare.tiers import TIERS
from bufferhouse.compare.values import Value, owned_bytes

_MOST_MOMENTS = 100  # of one side; all pairs are compared
_MOST_WORK = 4_000_000  # values in all pairs: programs with thousands of values get fewer moments


class Moment(NamedTuple):
    """A position of the schedule at which the occupied peak is reached, with the values alive there."""

    position: int
    alive: list[Value]
    owned: dict[int, int]


def moments(values: Sequence[Value], positions: Sequence[int]) -> list[Moment]:
    """Return one moment for each set of values alive at the tied positions of a peak: the first."""
    changes = sorted({v.start_position for v in values} | {v.end_position + 1 for v in values})
    firsts: dict[int, int] = {}
    for position in sorted(positions):
        firsts.setdefault(bisect_right(changes, position), position)
    most = min(_MOST_MOMENTS, max(isqrt(_MOST_WORK // len(values)), 1)) if values else 1
    stride = -(-len(firsts) // most) or 1
    return [moment_at(values, position) for position in list(firsts.values())[::stride]]


def moment_at(values: Sequence[Value], position: int) -> Moment:
    """Return a position of the schedule with the values alive there: live ranges are closed at both ends."""
    alive = [value for value in values if value.start_position <= position <= value.end_position]
    return Moment(position, alive, owned_bytes(alive))


def closest(before: Sequence[Moment], after: Sequence[Moment]) -> tuple[Moment, Moment]:
    """Return the two moments with the most bytes in common; of equal pairs the earliest.

    A peak that is reached several times is one peak: the choice of the moments must not create differences.
    """
    if len(before) == len(after) == 1:
        return before[0], after[0]
    after_sides = [(moment, _by_key(moment)) for moment in after]
    best: tuple[int, Moment, Moment] | None = None
    for one in before:
        keys = _by_key(one)
        for other, other_keys in after_sides:
            common = sum(min(size, other_keys[key]) for key, size in keys.items() if key in other_keys)
            if best is None or common > best[0]:
                best = common, one, other
    return best[1], best[2]


def _by_key(moment: Moment) -> Counter[Hashable]:
    sizes: Counter[Hashable] = Counter()
    for value in moment.alive:
        sizes[next(key for tier in TIERS if (key := tier.key(value)) is not None)] += moment.owned[value.value_id]
    return sizes
