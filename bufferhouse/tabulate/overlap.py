"""Which allocations have values that share bytes for more than an instant.

In almost every allocation two values overlap in address only at one instant, when one ends and the other starts (an
in-place operation, or a must-alias). Then the occupied bytes at an instant are plain SQL: the sum of the sizes alive
minus the overlap of each pair that touches. If values share bytes for longer (branches of a `conditional` in VMEM,
libtpu 0.0.51), the models sweep address segments instead; `has_strict_overlap` marks these allocations.

The work of the models is limited by the number of values of a dump: a forged dump could make them compare the square
of that number.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import accumulate, compress, count
from operator import add

from bufferhouse.dump.columns import Dumps, repeated

Slot = tuple[int, int, int, int]
"""First and last position alive (both included), first byte, byte behind the last."""

# Limits for each value of an allocation. In 16,000 real dumps, values that share bytes for longer have 2 segments and
# 10 meeting pairs each. The least counts accept every small allocation.
MOST_SEGMENTS, LEAST_SEGMENTS = 128, 1 << 14
MOST_MEETINGS, LEAST_MEETINGS = 4096, 1 << 20


class OverlapError(ValueError):
    """An allocation, by its place in its dump, whose values share bytes in more ways than the models can compare."""

    def __init__(self, allocation: int, expected: str, found: str) -> None:
        super().__init__(allocation, expected, found)
        self.allocation = allocation
        self.expected = expected
        self.found = found


def strict_overlaps(dumps: Dumps) -> list[bool]:
    """Return for each allocation whether some of its values share bytes for more than an instant.

    Raises:
        OverlapError: there is more to compare than the models can.
    """
    ranges, values, rows = dumps.live_ranges, dumps.values, dumps.rows
    found = [False] * len(dumps.allocations.size_bytes)
    firsts = list(accumulate(rows["allocations"][:-1], initial=0))
    owners = list(map(add, values.allocation_index, repeated(firsts, rows["values"])))
    # Most allocations hold a single value with bytes, which shares them with no other.
    counts = Counter(compress(owners, values.size_bytes))
    shared = {owner for owner, values_held in counts.items() if values_held > 1}
    if not shared:
        return found
    keys = zip(repeated(count(), rows["live_ranges"]), ranges.instruction, ranges.shape_index, strict=True)
    spans = dict(zip(keys, zip(ranges.start_position, ranges.end_position, strict=True), strict=True))
    slots: dict[int, list[Slot]] = {owner: [] for owner in shared}
    for owner, number, name, index, offset, size in zip(
        owners,
        repeated(count(), rows["values"]),
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
        if fault := _too_many_segments(held) if found[owner] else _too_many_meetings(held):
            raise OverlapError(owner - firsts[bisect_right(firsts, owner) - 1], *fault)
    return found


def _too_many_segments(slots: list[Slot]) -> tuple[str, str] | None:
    """Return limit and count if slots cover too many address segments, in each of which the models sweep them."""
    borders = sorted({border for _, _, low, high in slots for border in (low, high)})
    covered = sum(bisect_left(borders, high) - bisect_left(borders, low) for _, _, low, high in slots)
    most = max(MOST_SEGMENTS * len(slots), LEAST_SEGMENTS)
    if covered <= most:
        return None
    return f"values that share bytes in at most {most} address segments", f"{covered}, by {len(slots)} values"


def _too_many_meetings(slots: list[Slot]) -> tuple[str, str] | None:
    """Return limit and count if too many pairs meet, one ending when the other starts: the models compare each."""
    most = max(MOST_MEETINGS * len(slots), LEAST_MEETINGS)
    if len(slots) ** 2 <= most:
        return None
    starts = Counter(start for start, _, _, _ in slots)
    pairs = sum(starts[end] for _, end, _, _ in slots)
    return None if pairs <= most else (f"at most {most} pairs of values that meet at an instant", str(pairs))


def overlaps(slots: list[Slot]) -> bool:
    """Return whether some value takes bytes of another that is alive before and after, or of one that starts with it.

    A sweep over time. The slots that are alive are disjoint (else the answer is yes), so it is enough to look at
    neighbors by address. Of two slots that meet, the one that ends is removed before the other is added.
    """
    alive = _Disjoint()
    ends = sorted([(end, low) for start, end, low, _ in slots if start < end], reverse=True)
    instants: list[int] = []  # first bytes of the slots alive at this position alone
    now = -1
    for start, end, low, high in sorted(slots):
        if start > now:
            now = start
            for gone in instants:
                alive.remove(gone)
            instants = []
            while ends and ends[-1][0] <= now:
                alive.remove(ends.pop()[1])
        if not alive.add(low, high):
            return True
        if end == now:
            instants.append(low)
    return False


class _Disjoint:
    """Address ranges that share no byte, sorted, in pieces: in one long list an addition would move all behind it."""

    def __init__(self) -> None:
        self.pieces: list[list[tuple[int, int]]] = [[]]
        self.firsts = [-1]  # the least address of the ranges of each piece

    def add(self, low: int, high: int) -> bool:
        """Add a range; return False, and add nothing, if another one has some of its bytes."""
        number, piece, place = self._find(low)
        before = piece[place - 1] if place else self._neighbor(number - 1, -1)
        after = piece[place] if place < len(piece) else self._neighbor(number + 1, 0)
        if (before and before[1] > low) or (after and after[0] < high):
            return False
        piece.insert(place, (low, high))
        if len(piece) > _LONGEST_PIECE:
            half = len(piece) // 2
            self.pieces.insert(number + 1, piece[half:])
            self.firsts.insert(number + 1, piece[half][0])
            del piece[half:]
        return True

    def remove(self, low: int) -> None:
        """Remove the range that begins at `low`."""
        number, piece, place = self._find(low)
        del piece[place]
        if not piece and number:
            del self.pieces[number], self.firsts[number]

    def _find(self, low: int) -> tuple[int, list[tuple[int, int]], int]:
        number = bisect_right(self.firsts, low) - 1 if len(self.firsts) > 1 else 0
        piece = self.pieces[number]
        return number, piece, bisect_left(piece, (low,))

    def _neighbor(self, number: int, place: int) -> tuple[int, int] | None:
        """Return the last range of the piece before, or the first of the piece behind, if there is one."""
        return self.pieces[number][place] if 0 <= number < len(self.pieces) and self.pieces[number] else None


_LONGEST_PIECE = 1000
