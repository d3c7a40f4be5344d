"""Memory timelines by brute force, for dumps too large for `tests.oracle` to count every byte at every position.

Where the models sum what changes and take off what pairs of values share, this goes through the address space segment
by segment and joins the times at which somebody is alive there. `dump` is what the oracle reads.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import accumulate

from tests import oracle

Spans = list[tuple[int, int]]
"""First and last position, both included; sorted, and apart from each other."""


def joined(spans: Spans) -> Spans:
    """The union of spans."""
    found: Spans = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def values_in(dump: dict, allocation: dict) -> list[dict]:
    """The values of an allocation that take part in a timeline: none of a thread-local one."""
    values = [dump["values"][number] for number in allocation["values"]]
    return [] if allocation["is_thread_local"] else [value for value in values if value["live_range"]]


def occupied_changes(values: list[dict]) -> Counter[int]:
    """By how much the union of the live slots of one allocation's values changes, by position."""
    slots: dict[tuple[int, int], Spans] = defaultdict(list)
    for value in values:
        if value["size"]:
            slots[value["offset"], value["offset"] + value["size"]].append(value["live_range"])
    taken = {slot: joined(spans) for slot, spans in slots.items()}
    borders: dict[int, tuple[list, list]] = defaultdict(lambda: ([], []))
    for slot in taken:
        borders[slot[0]][0].append(slot)
        borders[slot[1]][1].append(slot)
    changes: Counter[int] = Counter()
    here: set[tuple[int, int]] = set()
    left = 0
    for right in sorted(borders):
        for start, end in joined([span for slot in here for span in taken[slot]]):
            changes[start] += right - left
            changes[end + 1] -= right - left
        begun, ended = borders[right]
        here.update(begun)
        here.difference_update(ended)
        left = right
    return changes


def alive_changes(values: list[dict], weight: Callable[[dict], int]) -> Counter[int]:
    """By how much the sum of `weight` over the values alive changes, by position."""
    changes: Counter[int] = Counter()
    for value in values:
        start, end = value["live_range"]
        changes[start] += weight(value)
        changes[end + 1] -= weight(value)
    return changes


def occupied_peak(values: list[dict]) -> int:
    """The most bytes in the union of the live slots of one allocation's values."""
    return max(accumulate(change for _, change in sorted(occupied_changes(values).items())), default=0)


def figures(dump: dict) -> tuple[dict[int, list[tuple]], dict[int, int]]:
    """Occupied bytes, listed bytes and values alive at every position by memory space; occupied peaks by allocation."""
    positions = range(0 if dump["max_position"] is None else dump["max_position"] + 1)
    sums: dict[int, tuple[Counter[int], ...]] = {}
    peaks = {}
    for allocation in dump["allocations"]:
        values = values_in(dump, allocation)
        space = sums.setdefault(allocation["memory_space"], (Counter(), Counter(), Counter()))
        space[0].update(occupied_changes(values))
        space[1].update(alive_changes(values, lambda value: oracle.logical_bytes(value["shape"])))
        space[2].update(alive_changes(values, lambda value: 1))
        peaks[allocation["index"]] = occupied_peak(values)
    rows = {
        space: list(zip(*(list(accumulate(map(changes.__getitem__, positions))) for changes in three), strict=True))
        for space, three in sums.items()
    }
    return rows, peaks
