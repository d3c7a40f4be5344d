"""Where values of one allocation share bytes in more than passing.

In almost every allocation two values overlap in address only at one instant, where one ends and the other starts (an
in-place operation, or a must-alias). There the occupied bytes at an instant are plain SQL: the sum of the sizes alive
minus the overlap of each pair that touches. Where this premise breaks (branches of a `conditional` in VMEM, libtpu
0.0.51) the models sweep address segments instead; `has_strict_overlap` says where.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, compress, count, repeat
from operator import add

from bufferhouse.dump.columns import Dumps

Slot = tuple[int, int, int, int]
"""First and last position alive (both included), first byte, byte behind the last."""


def strict_overlaps(dumps: Dumps) -> list[bool]:
    """Say for each allocation whether pairs that touch fail to describe how its values share bytes."""
    ranges, values, rows = dumps.live_ranges, dumps.values, dumps.rows
    found = [False] * len(dumps.allocations.size_bytes)
    firsts = accumulate(rows["allocations"][:-1], initial=0)
    owners = list(map(add, values.allocation_index, _repeated(firsts, rows["values"])))
    # Most allocations hold one value with bytes in it, which shares them with none.
    counts = Counter(compress(owners, values.size_bytes))
    shared = {owner for owner, values_held in counts.items() if values_held > 1}
    if not shared:
        return found
    keys = zip(_repeated(count(), rows["live_ranges"]), ranges.instruction, ranges.shape_index, strict=True)
    spans = dict(zip(keys, zip(ranges.start_position, ranges.end_position, strict=True), strict=True))
    slots: dict[int, list[Slot]] = {owner: [] for owner in shared}
    for owner, number, name, index, offset, size in zip(
        owners,
        _repeated(count(), rows["values"]),
        values.instruction,
        values.shape_index,
        values.offset_bytes,
        values.size_bytes,
        strict=True,
    ):
        if owner in shared and size and (span := spans.get((number, name, index or "{}"))):
            slots[owner].append((*span, offset, offset + size))
    for owner, held in slots.items():
        found[owner] = overlaps(held)
    return found


def _repeated(numbers: Iterable[int], counts: Iterable[int]) -> Iterator[int]:
    return chain.from_iterable(map(repeat, numbers, counts))


def overlaps(slots: list[Slot]) -> bool:
    """Say whether some value takes bytes of another that is alive before and after, or of one that starts with it.

    Sweeps over time. The slots that live on are disjoint (else the answer is yes), so that neighbours by address
    are enough to look at.
    """
    lows: list[int] = []  # first bytes of the slots that live on, sorted
    highs: list[int] = []  # the bytes behind their last
    ends = sorted([(end, low) for start, end, low, _ in slots if start < end], reverse=True)
    instants: list[tuple[int, int]] = []  # slots alive at this position alone
    now = -1
    for start, end, low, high in sorted(slots):
        if start > now:
            now, instants = start, []
            while ends and ends[-1][0] <= now:
                gone = bisect_left(lows, ends.pop()[1])
                del lows[gone], highs[gone]
        place = bisect_left(lows, low)
        if (place and highs[place - 1] > low) or (place < len(lows) and lows[place] < high):
            return True
        if instants and any(low < other_high and other_low < high for other_low, other_high in instants):
            return True
        if end == now:
            instants.append((low, high))
        else:
            lows.insert(place, low)
            highs.insert(place, high)
    return False
