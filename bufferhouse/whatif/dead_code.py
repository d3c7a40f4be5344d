"""What a compiler may leave out if results are dropped: dead code, as far as a dump shows it."""

from collections.abc import Collection

from bufferhouse.whatif.space import ARENA, Space

CALLS = {"while", "conditional", "call", "async-start", "async-done", "async-update"}


class DeadCode:
    """What may be dead without the results `dropped` and the values `removed`: more rather than less than is left out.

    `rows` are these and the temporaries that are computed only for them, `positions` those of the instructions that
    are left out, and `constant_bytes` those of constants that nothing else reads. An instruction with several results,
    one of which is no longer read, may lose operands as well. Everything in the computations that a loop or another
    instruction calls may go: a dump does not say what is computed for which result.
    """

    def __init__(self, space: Space, dropped: set[int], removed: Collection[int]) -> None:
        self._space = space
        c = space.columns
        self._gone = {c["instruction"][space.table]} if space.table is not None else set()  # it puts results together
        self._removed = removed
        dropped = dropped.union(removed)
        found = self._found(dropped, space.results.keys() - dropped)
        self.rows = [row for row in found if c["role"][row] == ARENA or row in dropped]
        self.positions = {c["start"][row] for name in self._gone for row in space.made.get(name, ())}
        self.constant_bytes = sum(
            size
            for index, (kind, size) in space.allocations.items()
            if kind == "constant" and not any(row in removed or self._is_read(row) for row in space.held.get(index, ()))
        )

    def _found(self, dropped: set[int], kept: set[int]) -> list[int]:
        space, names = self._space, self._space.columns["instruction"]
        found: list[int] = []
        open_ones = [row for row in dropped if row in self._removed or not self._is_read(row)]
        seen = set(open_ones)
        while open_ones:
            row = open_ones.pop()
            found.append(row)
            inside = [] if names[row] in self._gone else self._inside(row)
            self._gone |= {names[row], *(names[one] for one in inside)}
            unread = [one for one in space.made[names[row]] if not space.readers[one]]
            behind = [one for name in self._behind({row, *inside}) for one in space.made[name]]
            fresh = [*inside, *unread, *(one for one in behind if not self._is_read(one))]
            fresh = [one for one in dict.fromkeys(fresh) if one not in seen and one not in kept]
            open_ones += fresh
            seen.update(fresh)
        return found

    def _is_read(self, row: int) -> bool:
        """Return whether an instruction that stays reads a value; those without values here stay if they are read."""
        left, seen = list(self._space.readers[row]), set()
        while left:
            name = left.pop()
            if name in self._gone or name in seen:
                continue
            if name in self._space.made:
                return True
            seen.add(name)
            left += self._space.readers_elsewhere(name)
        return False

    def _behind(self, rows: set[int]) -> list[str]:
        """Return the instructions of this memory space whose values some read, or others for them in other spaces."""
        left, seen = [self._space.columns["instruction"][row] for row in rows], set()
        found = {}
        while left:
            for name in self._space.sources.get(left.pop(), ()):
                if name in self._space.made:
                    found[name] = None
                elif name not in seen:
                    seen.add(name)
                    left.append(name)
        return [*found]

    def _inside(self, row: int) -> list[int]:
        """Return the rows of the computations that the instruction of a value calls: they run behind its operands."""
        c = self._space.columns
        if c["opcode"][row] not in CALLS:
            return []
        begin = max((c["start"][operand] for operand in self._space.operands[row]), default=-1)
        return [one for one, start in enumerate(c["start"]) if begin < start < c["start"][row]]
