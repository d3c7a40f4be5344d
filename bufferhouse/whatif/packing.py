"""Placements of the slots of an arena that take few bytes, found with limited work and always verified."""

import sys
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import repeat
from typing import NamedTuple

from bufferhouse.whatif.slots import Piece, Slots, Timeline, changes_of, lower_bound, pieces, rows_by_body

WORK = 6_000_000  # pairs of slots that one packing may compare: a second or two
_FASTER = 50  # omnimalloc compares so many times as many pairs in the same time
MANY = 5_000  # bodies: one order of so many takes two seconds
_FEW = 400  # bodies up to which orders are improved step by step
_ROUNDS = 40


class Body(NamedTuple):
    """Bytes that are moved as a whole: offsets of its pieces count from its first byte, and end at whole steps.

    `offset_bytes` is its place in XLA's placement; `end` is the end of its last slot, not rounded.
    """

    number: int
    pieces: tuple[Piece, ...]
    offset_bytes: int
    end: int

    @property
    def start(self) -> int:
        """The first position at which any of it is alive."""
        return min(piece.start for piece in self.pieces)

    @property
    def stop(self) -> int:
        """The position behind the last at which any of it is alive."""
        return max(piece.stop for piece in self.pieces)

    @property
    def size(self) -> int:
        """The bytes from its first to its last, in whole steps."""
        return max(piece.end for piece in self.pieces)


class Packing(NamedTuple):
    """A placement: where each body begins, and the bytes up to the end of the last.

    `low_bytes` is the lower bound of all placements; `packer` says which packer found this one, and `is_cut` whether
    the search was cut short while this one was above the bound.
    """

    offsets: dict[int, int]
    high_bytes: int
    low_bytes: int
    packer: str
    is_cut: bool = False


def pack(slots: Slots, alignment: int, *, given: bool = False, work: int = WORK, many: int = MANY) -> Packing:
    """Return the smallest placement of the slots in the arena that is found; `given` tries XLA's own offsets, too.

    With no `work` XLA's offsets stay, if they are a placement. With `given` and more than `many` bodies, first only
    bodies that conflict with others are moved, so that no order of all of them has to be tried.

    Raises:
        AssertionError: a packer placed two slots on the same bytes at one moment.
    """
    low = lower_bound(slots, alignment)
    bodies = bodies_of(slots, alignment)
    if not bodies:
        return Packing({}, 0, 0, "none")
    own = {body.number: body.offset_bytes for body in bodies}
    search = _Search(bodies, low, work)
    found: list[Packing] = []
    if given and _is_free(own, bodies):
        found.append(Packing(own, height(own, bodies), low, "xla"))
    elif given and len(bodies) > many:
        offsets = search.nearest(own)
        found.append(Packing(offsets, height(offsets, bodies), low, "best fit"))
    is_worth_it = not found or len(bodies) ** 2 <= _FASTER * work
    if is_worth_it and _is_above(low, found) and (offsets := _by_omnimalloc(bodies, alignment)) is not None:
        found.append(Packing(offsets, height(offsets, bodies), low, "omnimalloc"))
    if _is_above(low, found):
        found += search.run(has_answer=bool(found))
    best = min(found, key=lambda one: one.high_bytes)
    verify(best.offsets, bodies)
    return best._replace(is_cut=best.high_bytes > low and search.is_cut)


def _is_above(low: int, found: Sequence[Packing]) -> bool:
    return all(one.high_bytes > low for one in found)


def bodies_of(slots: Slots, alignment: int) -> list[Body]:
    """Return the bodies in the arena."""
    found = []
    for number, rows in rows_by_body(slots, only_arena=True).items():
        first = min(slots.offset_bytes[row] for row in rows)
        moved = tuple(
            piece._replace(begin=piece.begin - first, end=piece.end - first) for piece in pieces(slots, rows, alignment)
        )
        end = max(slots.offset_bytes[row] + slots.size_bytes[row] for row in rows) - first
        found.append(Body(number, moved, first, end))
    return found


def height(offsets: dict[int, int], bodies: Iterable[Body]) -> int:
    """Return the bytes up to the end of the last slot."""
    return max((offsets[body.number] + body.end for body in bodies), default=0)


def verify(offsets: dict[int, int], bodies: Sequence[Body]) -> None:
    """Check that no byte holds two bodies at one moment, and that no body begins before the arena.

    Raises:
        AssertionError: one of these is not true.
    """
    assert all(offset >= 0 for offset in offsets.values()), "a body stands before the arena"
    assert _is_free(offsets, bodies), "two bodies stand on the same bytes at one moment"


def _is_free(offsets: dict[int, int], bodies: Sequence[Body]) -> bool:
    """Return whether no byte holds two bodies at one moment."""
    return next(_conflicts(offsets, bodies), None) is None


def _conflicts(offsets: dict[int, int], bodies: Sequence[Body]) -> Iterator[int]:
    """Yield the numbers of bodies, possibly repeated, without which no byte holds two bodies at one moment.

    A sweep over all pieces, with those alive in the order of addresses.
    """
    events: list[tuple[int, int, int, int, int]] = []
    for body in bodies:
        base = offsets[body.number]
        for piece in body.pieces:
            events.append((piece.start, 1, base + piece.begin, base + piece.end, body.number))
            events.append((piece.stop, 0, base + piece.begin, base + piece.end, body.number))
    events.sort()  # what ends comes first
    alive: list[tuple[int, int, int]] = []
    for _, is_start, *block in events:
        begin, end, number = one = tuple(block)
        place = bisect_left(alive, one)
        if not is_start:
            if place < len(alive) and alive[place] == one:  # else it was in conflict, and is not there
                del alive[place]
        elif (place and alive[place - 1][1] > begin) or (place < len(alive) and alive[place][0] < end):
            yield number
        else:
            alive.insert(place, one)


class _Search:
    """Placements by best fit: several orders of bodies, each body into the smallest gap that is large enough."""

    def __init__(self, bodies: Sequence[Body], low: int, work: int) -> None:
        self.bodies, self.low, self.work, self.is_sure = bodies, low, work, False
        self.is_cut = False
        self.start = [body.start for body in bodies]
        self.stop = [body.stop for body in bodies]
        self.size = [body.size for body in bodies]
        self.is_plain = [len(body.pieces) == 1 and body.pieces[0].begin == 0 for body in bodies]

    def nearest(self, own: Mapping[int, int]) -> dict[int, int]:
        """Return XLA's own placement; bodies that conflict with others, or were added by edits, are placed by start."""
        known = [body for body in self.bodies if body.number >= 0]
        moved = set(_conflicts(own, known))
        offsets = {body.number: own[body.number] for body in known if body.number not in moved}
        by_start = sorted(range(len(self.bodies)), key=lambda n: (self.start[n], -self.size[n], n))
        kept = [n for n in by_start if self.bodies[n].number in offsets]
        blocks = [(begin := offsets[self.bodies[n].number], begin + self.size[n], n) for n in kept]
        starts = [self.start[n] for n in kept]
        alive: list[tuple[int, int, int]] = []  # by address
        ends: list[tuple[int, tuple[int, int, int]]] = []
        come = 0
        for n in by_start:
            while ends and ends[0][0] <= self.start[n]:
                del alive[bisect_left(alive, heappop(ends)[1])]
            number = self.bodies[n].number
            if number in offsets:
                block = blocks[come]
                come += 1
            else:
                near = sorted([*alive, *blocks[come : bisect_left(starts, self.stop[n])]])
                offsets[number] = begin = _gap(near, self.size[n])  # bodies as wholes: their pieces would take long
                block = begin, begin + self.size[n], n
            insort(alive, block)
            heappush(ends, (self.stop[n], block))
        return offsets

    def run(self, *, has_answer: bool) -> list[Packing]:
        """Return the placements that were found: at least one, unless there is an answer already."""
        self.is_sure = has_answer
        found: list[tuple[int, list[int], dict[int, int]]] = []
        for key in self._orders():
            order = sorted(range(len(self.bodies)), key=key)
            if not self._try(order, found):
                break
        if found and min(high for high, _, _ in found) > self.low and len(self.bodies) <= _FEW:
            self._improve(found)
        return [Packing(offsets, high, self.low, "best fit") for high, _, offsets in found]

    def _orders(self) -> Iterable[Callable[[int], tuple]]:
        start, stop, size = self.start, self.stop, self.size
        yield lambda n: (-size[n], start[n] - stop[n], start[n], n)  # XLA's GlobalDecreasingSizeBestFitHeap
        yield lambda n: (start[n] - stop[n], -size[n], start[n], n)
        yield lambda n: (-size[n] * (stop[n] - start[n]), -size[n], start[n], n)
        yield lambda n: (start[n], -stop[n], -size[n], n)
        yield lambda n: (-stop[n], start[n], -size[n], n)
        # where most bytes are alive
        middle = Timeline(changes_of(map(Piece, start, stop, repeat(0), size))).position
        yield lambda n: (abs(2 * middle - start[n] - stop[n] + 1) - (stop[n] - start[n]), -size[n], n)
        yield lambda n: (not start[n] <= middle < stop[n], -size[n], start[n] - stop[n], n)
        yield lambda n: (not start[n] <= middle < stop[n], start[n] - stop[n], -size[n], n)

    def _try(self, order: list[int], found: list[tuple[int, list[int], dict[int, int]]]) -> bool:
        """Place the bodies in an order and keep the result; return False if no other order can help or be tried."""
        offsets = self._place(order)
        if offsets is None:
            self.is_cut = True
            return False
        self.is_sure = True
        found.append((height(offsets, self.bodies), order, offsets))
        return found[-1][0] > self.low

    def _improve(self, found: list[tuple[int, list[int], dict[int, int]]]) -> None:
        """Move the bodies with the highest ends to the front of the order, again and again."""
        _, order, offsets = min(found, key=lambda one: one[0])
        seen = set()
        for _ in range(_ROUNDS):
            tops = [n for n in order if offsets[self.bodies[n].number] + self.bodies[n].end > self.low]
            for step in (*tops, None):
                front = tops if step is None else [step]
                nearer = [*front, *(n for n in order if n not in front)]
                if tuple(nearer) in seen:
                    continue
                seen.add(tuple(nearer))
                if not self._try(nearer, found):
                    return
                order, offsets = nearer, found[-1][2]
                break
            else:
                return

    def _place(self, order: Sequence[int]) -> dict[int, int] | None:
        """Return where best fit places the bodies in this order; None if the work is used up before that."""
        offsets: dict[int, int] = {}
        placed: list[tuple[int, int, int, int, int]] = []  # begin, end, number, start and stop, by address
        for n in order:
            self.work -= len(placed) + 1
            if self.work < 0 and self.is_sure:
                return None
            first, behind, size = self.start[n], self.stop[n], self.size[n]
            near = [(b, e, other) for b, e, other, s, t in placed if s < behind and first < t]
            if self.is_plain[n] and all(self.is_plain[one[2]] for one in near):
                taken = near
            else:
                taken = sorted(self._forbidden(n, near, offsets))
            at = _gap(taken, size)
            offsets[self.bodies[n].number] = at
            insort(placed, (at, at + size, n, first, behind))
        return offsets

    def _forbidden(
        self, n: int, near: Sequence[tuple[int, int, int]], offsets: dict[int, int]
    ) -> list[tuple[int, int, int]]:
        """Return the bytes that a body must not take, as if it were all of its size throughout its life."""
        found = []
        for _, _, other in near:
            base = offsets[self.bodies[other].number]
            for theirs in self.bodies[other].pieces:
                for own in self.bodies[n].pieces:
                    if own.start < theirs.stop and theirs.start < own.stop:
                        # The body may begin at base + theirs.end - own.begin, and must end before the other piece.
                        found.append((base + theirs.begin - own.end + self.size[n], base + theirs.end - own.begin, n))
        return found


def _gap(taken: Sequence[tuple[int, int, int]], size: int) -> int:
    """Return the start of the smallest gap of at least `size` between intervals in ascending order; else their end."""
    reached, best, best_room = 0, -1, sys.maxsize
    for begin, end, _ in taken:
        room = begin - reached
        if size <= room < best_room:
            best, best_room = reached, room
        if end > reached:
            reached = end
    return best if best >= 0 else reached


def _by_omnimalloc(bodies: Sequence[Body], alignment: int) -> dict[int, int] | None:
    """Return the placement of the package omnimalloc, with one rectangle for each body; None if it gives none."""
    try:
        from omnimalloc import Allocation, allocate
    except ImportError:
        return None
    blocks = [Allocation(id=body.number, size=body.size, start=body.start, end=body.stop) for body in bodies]
    offsets = {one.id: one.offset for one in allocate(blocks)}
    aligned = all(offset % alignment == 0 for offset in offsets.values())
    return offsets if aligned and _is_free(offsets, bodies) else None
