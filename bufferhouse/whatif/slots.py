"""Slots in columns: when which bytes are alive, which slots share bytes, and the most bytes alive at once.

Live ranges are closed at both ends. Values that share bytes of an allocation at a moment are one body: XLA works in
place, or places a smaller value inside a larger one. A body is moved as a whole, and a byte of it counts once.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from typing import NamedTuple

from bufferhouse.whatif.space import ARENA, Space


class Piece(NamedTuple):
    """Adjacent bytes of a body that are alive from `start` to before `stop`, at `begin` up to `end` of the body."""

    start: int
    stop: int
    begin: int
    end: int


@dataclass(slots=True)
class Slots:
    """Slots in columns of equal length: the row of the value in its space, its body, its bytes and its live range.

    `offset_bytes` count from the start of the allocation, or of the body after a move. `is_arena` is whether the
    packer may place the slot: a body is in the arena as a whole or not at all.
    """

    value: list[int]
    body: list[int]
    offset_bytes: list[int]
    size_bytes: list[int]
    start: list[int]
    end: list[int]
    is_arena: list[bool]

    def copy(self) -> "Slots":
        """A copy that can be edited alone."""
        return Slots(*([*getattr(self, name)] for name in self.__slots__))

    def add(self, like: int, *, size: int, start: int, end: int) -> None:
        """Add a slot of the value of row `like`, as a body of its own in the arena."""
        self.value.append(self.value[like])
        # A number below all others, even if some were dropped; parts of older bodies may have been added since.
        self.body.append(min(min(self.body), 0) - 1)
        self.offset_bytes.append(0)
        self.size_bytes.append(size)
        self.start.append(start)
        self.end.append(end)
        self.is_arena.append(True)

    def add_part(self, like: int, *, start: int, end: int) -> None:
        """Add a slot of the value of row `like` in the same bytes of the same body."""
        for name in self.__slots__:
            column = getattr(self, name)
            column.append(column[like])
        self.start[-1], self.end[-1] = start, end

    def keep(self, rows: Iterable[int]) -> None:
        """Keep these rows and drop the others."""
        kept = list(rows)
        for name in self.__slots__:
            column = getattr(self, name)
            setattr(self, name, [column[row] for row in kept])


def slots_of(space: Space) -> Slots:
    """Return the slots of a space that are not empty; slots that share bytes at a moment are in one body."""
    c = space.columns
    kept = [row for row in range(len(space)) if c["size_bytes"][row] > 0]
    base = _bases(space)
    found = Slots(
        kept,
        list(range(len(kept))),
        [base.get(c["allocation"][row], 0) + c["offset_bytes"][row] for row in kept],
        [c["size_bytes"][row] for row in kept],
        [c["start"][row] for row in kept],
        [c["end"][row] for row in kept],
        [c["kind"][row] == ARENA for row in kept],
    )
    found.body = bodies(found, [c["allocation"][row] for row in kept], space.strict)
    return found


def _bases(space: Space) -> dict[int, int]:
    """Return where each allocation of temporaries begins, if they stand end to end: they are one arena."""
    found, end = {}, 0
    for index, (kind, size) in space.allocations.items():
        if kind == ARENA:
            found[index] = end
            end += _rounded(size, space.alignment)
    return found


def bodies(slots: Slots, owner: Sequence[int], strict: frozenset[int]) -> list[int]:
    """Return for each slot the first of those with which it shares bytes, directly or through others."""
    root = list(range(len(owner)))

    def find(row: int) -> int:
        while root[row] != row:
            root[row] = row = root[root[row]]
        return row

    by_allocation: dict[int, list[int]] = defaultdict(list)
    for row, allocation in enumerate(owner):
        by_allocation[allocation].append(row)
    for allocation, rows in by_allocation.items():
        pairs = _overlapping(slots, rows) if allocation in strict else _touching(slots, rows)
        for one, other in pairs:
            first, second = sorted((find(one), find(other)))
            root[second] = first
    return [find(row) for row in range(len(owner))]


def _touching(slots: Slots, rows: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Yield the slots that share bytes at the one instant where one ends and the other starts."""
    ending: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        ending[slots.end[row]].append(row)
    for row in rows:
        for other in ending.get(slots.start[row], ()):
            if other != row and _shares(slots, row, other):
                yield other, row


def _overlapping(slots: Slots, rows: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Yield the slots that share bytes at any time: a sweep over the starts, for the few allocations that need it."""
    alive: list[int] = []
    for row in sorted(rows, key=lambda r: slots.start[r]):
        alive = [other for other in alive if slots.end[other] >= slots.start[row]]
        yield from ((other, row) for other in alive if _shares(slots, row, other))
        alive.append(row)


def _shares(slots: Slots, one: int, other: int) -> bool:
    begin, size = slots.offset_bytes, slots.size_bytes
    return begin[one] < begin[other] + size[other] and begin[other] < begin[one] + size[one]


def pieces(slots: Slots, rows: Sequence[int], step: int = 1) -> list[Piece]:
    """Return the bytes of one body that are alive, without any byte twice; ends are rounded up to `step`."""
    offset, size, start, end = slots.offset_bytes, slots.size_bytes, slots.start, slots.end
    if len(rows) == 1:
        [row] = rows
        return [Piece(start[row], end[row] + 1, offset[row], offset[row] + _rounded(size[row], step))]
    instants = sorted({at for row in rows for at in (start[row], end[row] + 1)})
    ordered = sorted(rows, key=start.__getitem__)
    found: list[Piece] = []
    last: dict[tuple[int, int], int] = {}  # where a piece that may go on stands in `found`
    alive: list[int] = []
    taken = 0
    for now, then in pairwise(instants):
        while taken < len(ordered) and start[ordered[taken]] <= now:
            alive.append(ordered[taken])
            taken += 1
        alive = [row for row in alive if end[row] >= now]
        filled = merged((offset[row], offset[row] + _rounded(size[row], step)) for row in alive)
        going: dict[tuple[int, int], int] = {}
        for key in filled:
            at = last.get(key)
            if at is None:
                going[key] = len(found)
                found.append(Piece(now, then, *key))
            else:
                going[key] = at
                found[at] = found[at]._replace(stop=then)
        last = going
    return found


def merged(intervals: Iterable[tuple[int, int]], within: int = 0) -> list[tuple[int, int]]:
    """Return intervals in order; one that begins before another ends, or less than `within` later, is joined to it."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(intervals):
        if found and begin < found[-1][1] + within:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def _rounded(size: int, step: int) -> int:
    return -(-size // step) * step


def rows_by_body(slots: Slots, *, only_arena: bool = False) -> dict[int, list[int]]:
    """Return the rows of each body."""
    found: dict[int, list[int]] = defaultdict(list)
    for row, body in enumerate(slots.body):
        if slots.is_arena[row] or not only_arena:
            found[body].append(row)
    return found


def changes_of(found: Iterable[Piece]) -> dict[int, int]:
    """Return, by position, by how many bytes pieces change the bytes alive."""
    changes: dict[int, int] = defaultdict(int)
    for piece in found:
        changes[piece.start] += piece.end - piece.begin
        changes[piece.stop] -= piece.end - piece.begin
    return changes


class Timeline:
    """The bytes alive from each position at which they change to the next; `peak` is the most."""

    def __init__(self, changes: dict[int, int]) -> None:
        self.positions = sorted(changes)
        self.bytes = list(accumulate(changes[at] for at in self.positions))
        self.peak = max(self.bytes, default=0)
        self.position = self.positions[self.bytes.index(self.peak)] if self.bytes else None

    def at(self, position: int) -> int:
        """Return the bytes alive at a position."""
        place = bisect_left(self.positions, position + 1) - 1
        return self.bytes[place] if place >= 0 else 0


def timeline(slots: Slots) -> Timeline:
    """Return the occupied bytes of a memory space over the schedule."""
    every = rows_by_body(slots).values()
    return Timeline(changes_of(piece for rows in every for piece in pieces(slots, rows)))


def lower_bound(slots: Slots, alignment: int) -> int:
    """Return the most bytes alive at once in the arena: no placement can take fewer."""
    return most_alive(slots, alignment)[0]


def most_alive(slots: Slots, alignment: int) -> tuple[int, int | None]:
    """Return the most bytes alive at once in the arena, and a position at which they are; None if it is empty.

    Every slot begins at a multiple of the alignment, so each takes whole steps, except the one that ends last: for
    each moment the largest remainder is subtracted.
    """
    bodies = rows_by_body(slots, only_arena=True)
    changes = changes_of(piece for rows in bodies.values() for piece in pieces(slots, rows, alignment))
    whole = Timeline(changes)
    if alignment == 1 or not whole.bytes:
        return whole.peak, whole.position
    near = [at for at, size in zip(whole.positions, whole.bytes, strict=True) if size > whole.peak - alignment]
    rows = sorted((row for rows in bodies.values() for row in rows), key=slots.start.__getitem__)
    best, moment, taken = 0, None, 0
    remainders: list[tuple[int, int]] = []  # the largest first, each with where its slot ends
    for at in near:
        while taken < len(rows) and slots.start[rows[taken]] <= at:
            row = rows[taken]
            heappush(remainders, (-(-slots.size_bytes[row] % alignment), slots.end[row]))
            taken += 1
        while remainders and remainders[0][1] < at:
            heappop(remainders)
        size = whole.at(at) + (remainders[0][0] if remainders else 0)
        if size > best:
            best, moment = size, at
    if best < whole.peak and len(rows) > len(bodies):
        # The subtracted remainder may be of a slot inside another one, but all bytes that are alive are needed.
        alive = Timeline(changes_of(piece for rows in bodies.values() for piece in pieces(slots, rows)))
        if alive.peak > best:
            return alive.peak, alive.position
    return best, moment
