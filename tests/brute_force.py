"""Memory timelines by brute force, for dumps too large for `tests.oracle` to count every byte at every position.

Where the models sum what changes and take off what pairs of values share, this goes through the address space segment
by segment and joins the times at which somebody is alive there. `dump` is what the oracle reads.
"""

from collections import defaultdict
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


def occupied(values: list[dict], position_count: int) -> list[int]:
    """Bytes in the union of the live slots of one allocation's values, at every position."""
    slots: dict[tuple[int, int], Spans] = defaultdict(list)
    for value in values:
        if value["size"]:
            slots[value["offset"], value["offset"] + value["size"]].append(value["live_range"])
    taken = {slot: joined(spans) for slot, spans in slots.items()}
    borders: dict[int, tuple[list, list]] = defaultdict(lambda: ([], []))
    for slot in taken:
        borders[slot[0]][0].append(slot)
        borders[slot[1]][1].append(slot)
    changes = [0] * (position_count + 1)
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
    return list(accumulate(changes[:position_count]))


def alive(values: list[dict], position_count: int, weight) -> list[int]:
    """The sum of `weight` over the values alive at every position."""
    changes = [0] * (position_count + 1)
    for value in values:
        start, end = value["live_range"]
        changes[start] += weight(value)
        changes[end + 1] -= weight(value)
    return list(accumulate(changes[:position_count]))


def figures(dump: dict) -> tuple[dict[int, list[tuple]], dict[int, int]]:
    """Occupied bytes, listed bytes and values alive at every position by memory space; occupied peaks by allocation."""
    count = 0 if dump["max_position"] is None else dump["max_position"] + 1
    sums: dict[int, list[list[int]]] = {}
    peaks = {}
    for allocation in dump["allocations"]:
        values = values_in(dump, allocation)
        own = [
            occupied(values, count),
            alive(values, count, lambda value: oracle.logical_bytes(value["shape"])),
            alive(values, count, lambda value: 1),
        ]
        peaks[allocation["index"]] = max(own[0], default=0)
        space = sums.setdefault(allocation["memory_space"], [[0] * count for _ in own])
        for total, more in zip(space, own, strict=True):
            if any(more):
                total[:] = map(int.__add__, total, more)
    return {space: list(zip(*rows, strict=True)) for space, rows in sums.items()}, peaks
