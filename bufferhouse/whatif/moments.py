"""The occupied timeline of a memory space, which gives the peak with a few values edited."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate

from bufferhouse.whatif.plan import Plan
from bufferhouse.whatif.slots import Slots, Timeline, changes_of, pieces, rows_by_body, slots_of
from bufferhouse.whatif.space import Space


class Moments:
    """The occupied timeline of a space, which gives the highest point with some bodies changed."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.slots = slots_of(space)
        self.bodies = rows_by_body(self.slots)
        self.place = {row: at for at, row in enumerate(self.slots.value)}
        self.of_row = {row: self.slots.body[at] for row, at in self.place.items()}
        self.pieces = {body: pieces(self.slots, rows) for body, rows in self.bodies.items()}
        self.line = Timeline(changes_of(piece for found in self.pieces.values() for piece in found))
        self.highest = _Highest(self.line.bytes)

    def at(self, position: int) -> list[int]:
        """Return the rows of the values that are alive at a position."""
        slots = self.slots
        return [row for at, row in enumerate(slots.value) if slots.start[at] <= position <= slots.end[at]]

    def plan(self, rows: Iterable[int], kind: str) -> Plan:
        """Return a plan with only those bodies that an edit of these values can change."""
        touched = set()
        for row in rows:
            touched |= {row, *(self.space.operands[row] if kind == "remat" else ())}
            if kind == "donate" or self.space.columns["kind"][row] in ("output", "constant"):
                touched |= set(self.space.held[self.space.columns["allocation"][row]])
            if kind in ("free", "remove"):
                touched |= self.space.tables_of(row)
            if kind == "donate":
                touched |= self.space.places_for(row)
        bodies = {self.of_row[row] for row in touched if row in self.of_row}
        return self._small([at for body in sorted(bodies) for at in self.bodies[body]])

    def alone(self, row: int) -> Plan:
        """Return a plan of one value, to ask which edits it can take."""
        return self._small([self.place[row]] if row in self.place else [])

    def without(self, row: int) -> int:
        """Return the highest point of the timeline without one value, with all others unchanged."""
        plan = self.plan([row], "remove")
        plan.slots.keep(at for at, other in enumerate(plan.slots.value) if other != row)
        return self.peak(plan)[0]

    def _small(self, kept: Iterable[int]) -> Plan:
        return Plan(self.space, Slots(*([getattr(self.slots, name)[at] for at in kept] for name in Slots.__slots__)))

    def peak(self, plan: Plan) -> tuple[int, int | None]:
        """Return the highest point of the timeline with the bodies of a plan, and its first position.

        `plan` comes from `plan()`: the bodies that it began with are subtracted, those that it has now are added.
        """
        changes: dict[int, int] = defaultdict(int)
        for body in plan.begun:
            for piece in self.pieces[body]:
                changes[piece.start] -= piece.end - piece.begin
                changes[piece.stop] += piece.end - piece.begin
        for rows in rows_by_body(plan.slots).values():
            for at, size in changes_of(pieces(plan.slots, rows)).items():
                changes[at] += size
        positions = sorted(at for at, size in changes.items() if size)
        best: tuple[int, int] | None = None
        starts, line = [-1, *positions], self.line.positions
        deltas = [0, *accumulate(changes[at] for at in positions)]
        stops = [*positions, (line[-1] if line else 0) + 1]
        for start, stop, delta in zip(starts, stops, deltas, strict=True):
            first, last = bisect_right(line, start) - 1, bisect_left(line, stop)
            if stop <= start or last <= max(first, 0):
                continue
            place = self.highest.among(max(first, 0), last)
            size = self.line.bytes[place] + delta
            if best is None or size > best[0]:
                best = size, max(line[place], start)
        return best if best is not None else (0, None)


class _Highest:
    """The place of the first highest number in any range, by a sparse table."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self.levels = [list(range(len(numbers)))]
        width = 1
        while 2 * width <= len(numbers):
            below = self.levels[-1]
            self.levels.append(
                [self._higher(below[at], below[at + width]) for at in range(len(numbers) - 2 * width + 1)]
            )
            width *= 2

    def among(self, begin: int, end: int) -> int:
        """Return the place of the highest number from `begin` to before `end`, which must not be empty."""
        level = (end - begin).bit_length() - 1
        return self._higher(self.levels[level][begin], self.levels[level][end - (1 << level)])

    def _higher(self, one: int, other: int) -> int:
        return other if self.numbers[other] > self.numbers[one] else one
