"""The search for the first of many points that differs from the first one, with as few measurements as can be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

GOOD, BAD, SKIPPED = "good", "bad", "skipped"


@dataclass(frozen=True, slots=True)
class Step:
    """Where a search ended: the last point that is good, the first that is bad; indices into the list.

    `first_bad` is None where even the last point is good. `unknown` are the points between the two that could not be
    measured: the step may be at any of them.
    """

    last_good: int
    first_bad: int | None
    unknown: Sequence[int] = ()


@dataclass(slots=True)
class Search:
    """A search in a list of `count` points, of which the first is good.

    `verdict` measures a point and says GOOD, BAD or SKIPPED. Points of `known` cost nothing, and are asked first. With
    nothing skipped at most ceil(log2(count)) points are measured besides the first: the last one, which somebody says
    is bad, is measured only if all before it are good.
    """

    count: int
    verdict: Callable[[int], str]
    known: Callable[[int], bool] = lambda at: False
    skipped: set[int] = field(default_factory=set)

    def run(self) -> Step:
        """Return the step; between the ends there may be others."""
        low, high = 0, self.count
        while (at := self._next(low, high)) is not None:
            found = self.verdict(at)
            if found == SKIPPED:
                self.skipped.add(at)
            elif found == BAD:
                high = at
            else:
                low = at
        first_bad = high if high < self.count else None
        return Step(low, first_bad, [at for at in range(low + 1, high) if at in self.skipped])

    def _next(self, low: int, high: int) -> int | None:
        """Return the point to ask next: a known one, else that nearest to the middle; None at the end."""
        left = [at for at in range(low + 1, high) if at not in self.skipped]
        if not left:
            return None
        middle = (low + high) / 2
        return min([at for at in left if self.known(at)] or left, key=lambda at: (abs(at - middle), at))
