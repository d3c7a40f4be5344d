"""Works measured turn by turn, so that what else the machine does falls on all of them alike."""

import contextlib
import io
import resource
from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter
from typing import NamedTuple


class Spent(NamedTuple):
    """What one turn took: seconds by the clock on the wall, and of the processor, worker processes included."""

    seconds: float
    processor: float


def spent(work: Callable[[], object]) -> Spent:
    """Return what some work takes, quietly; of child processes those that have ended count."""
    before, start = _processor(), perf_counter()
    with contextlib.redirect_stderr(io.StringIO()):
        work()
    return Spent(perf_counter() - start, _processor() - before)


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def in_turns(works: Mapping[str, Callable[[], object]], turns: int) -> dict[str, list[Spent]]:
    """Return what each work takes in each turn; all have their turn before any has its next."""
    found: dict[str, list[Spent]] = {name: [] for name in works}
    for _ in range(turns):
        for name, work in works.items():
            found[name].append(spent(work))
    return found


def middle(turns: list[Spent]) -> Spent:
    """Return the medians of some turns."""
    return Spent(median(turn.seconds for turn in turns), median(turn.processor for turn in turns))


def ratio(over: list[Spent], under: list[Spent]) -> Spent:
    """Return how many times as much one work took as the other in the same turn: the medians."""
    pairs = list(zip(over, under, strict=True))
    return Spent(
        median(one.seconds / other.seconds for one, other in pairs),
        median(one.processor / max(other.processor, 1e-3) for one, other in pairs),
    )
