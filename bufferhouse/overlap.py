"""Where values of one allocation share bytes in more than passing.

In almost every allocation two values overlap in address only at one instant, where one ends and the other starts (an
in-place operation, or a must-alias). There the occupied bytes at an instant are plain SQL: the sum of the sizes alive
minus the overlap of each pair that touches. Where this premise breaks (branches of a `conditional` in VMEM, libtpu
0.0.51) the models sweep address segments instead; `has_strict_overlap` says where.
"""

from bisect import bisect_left, insort
from heapq import heappop, heappush

from bufferhouse.dump import Dump

Slot = tuple[int, int, int, int]
"""First and last position alive (both included), first byte, byte behind the last."""


def strict_overlaps(dump: Dump) -> list[bool]:
    """Say for each allocation whether pairs that touch fail to describe how its values share bytes."""
    ranges, values = dump.live_ranges, dump.values
    keys = zip(ranges.instruction, ranges.shape_index, strict=True)
    spans = dict(zip(keys, zip(ranges.start_position, ranges.end_position, strict=True), strict=True))
    slots: dict[int, list[Slot]] = {}
    for name, index, owner, offset, size in zip(
        values.instruction,
        values.shape_index,
        values.allocation_index,
        values.offset_bytes,
        values.size_bytes,
        strict=True,
    ):
        if size and (span := spans.get((name, index or "{}"))):
            slots.setdefault(owner, []).append((*span, offset, offset + size))
    found = [False] * len(dump.allocations.size_bytes)
    for owner, held in slots.items():
        if len(held) > 1:
            found[owner] = overlaps(held)
    return found


def overlaps(slots: list[Slot]) -> bool:
    """Say whether some value takes bytes of another that is alive before and after, or of one that starts with it.

    Sweeps over time. The slots that live on are disjoint (else the answer is yes), so that neighbours by address
    are enough to look at.
    """
    living: list[tuple[int, int]] = []  # (first byte, byte behind the last), sorted
    ends: list[tuple[int, int, int]] = []  # the same by last position
    instants: list[tuple[int, int]] = []  # slots alive at this position alone
    now = -1
    for start, end, low, high in sorted(slots):
        if start > now:
            now, instants = start, []
            while ends and ends[0][0] <= now:
                _, *gone = heappop(ends)
                del living[bisect_left(living, tuple(gone))]
        place = bisect_left(living, (low, high))
        if (place and living[place - 1][1] > low) or (place < len(living) and living[place][0] < high):
            return True
        if instants and any(low < other_high and other_low < high for other_low, other_high in instants):
            return True
        if end == now:
            instants.append((low, high))
        else:
            insort(living, (low, high))
            heappush(ends, (end, low, high))
    return False
