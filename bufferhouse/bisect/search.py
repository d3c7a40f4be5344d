"""The search for the first of many points that differs from the first one, with as few measurements as possible."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

GOOD, BAD, SKIPPED = "good", "bad", "skipped"


@dataclass(frozen=True, slots=True)
class Step:
    """Where a search ended: the last point that is good, the first that is bad; indices into the list.

    `first_bad` is None if even the last point is good. `unknown` are the points between the two that could not be
    measured: the step may be at any of them.
    """

    last_good: int
    first_bad: int | None
    unknown: Sequence[int] = ()


def between(points: Sequence[str], good: str, bad: str) -> list[str]:
    """Return the points of a list from one to another, the good one first, whichever comes first in the list."""
    first, last = points.index(good), points.index(bad)
    return list(points[first : last + 1]) if first <= last else list(points[last : first + 1])[::-1]


def search(count: int, verdict: Callable[[int], str], known: Callable[[int], bool] = lambda at: False) -> Step:
    """Return a step in a list of `count` points, of which the first is good; the list may have further steps.

    `verdict` measures a point and returns GOOD, BAD or SKIPPED. Points for which `known` is true cost nothing, and are
    asked first. If none is skipped, at most ceil(log2(count)) points are measured besides the first. The last point,
    which the caller expects to be bad, is measured only if all others that were measured are good.
    """
    low, high = 0, count
    skipped: set[int] = set()
    while left := [at for at in range(low + 1, high) if at not in skipped]:
        middle = (low + high) / 2
        at = min([at for at in left if known(at)] or left, key=lambda at: (abs(at - middle), at))
        found = verdict(at)
        if found == SKIPPED:
            skipped.add(at)
        elif found == BAD:
            high = at
        else:
            low = at
    return Step(low, high if high < count else None, list(range(low + 1, high)))
