"""A memory space with edits applied: its slots, its other allocations, and how far each edit is to be trusted.

The schedule, fusions and layouts stay those of the dump. Only the compiler knows what it would do with the changed
program, so edits have labels. `exact`: the compiler has no choice, and it did the same in every program that was
tested. `bound`: the bytes follow from the dump, but the compiler may schedule or place again. `estimate`: the edit
changes instructions, and the dump shows only the old ones.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from bufferhouse.errors import UsageError, counted
from bufferhouse.tabulate.shape import Shape, parse_shape
from bufferhouse.whatif.dead_code import CALLS, DeadCode
from bufferhouse.whatif.edits import LIVES, SIZES, Edit, chosen, in_order, phase
from bufferhouse.whatif.narrow import flat_bytes, with_fitting_tiles, with_type
from bufferhouse.whatif.slots import Slots, merged, slots_of, timeline
from bufferhouse.whatif.space import ARENA, HOST, Output, Space, array_shape

# Instructions that cannot run a second time just before a use: they call computations, communicate, or their result is
# given.
_NOT_AGAIN = {
    *("parameter", "constant", "while", "conditional", "call", "infeed", "outfeed", "recv", "recv-done", "send"),
    *("send-done", "rng", "rng-bit-generator", "get-tuple-element", "async-start", "async-update", "async-done"),
    *("copy-start", "copy-done", "partition-id", "replica-id"),
}
# Instructions, and operations of fusions, whose result never takes the place of an operand.
_NOT_IN_PLACE = {
    *("dot_general", "conv_general_dilated"),
    *("dot", "convolution", "fft", "rev", "reduce", "reduce-window", "select-and-scatter", "gather"),
    *("concatenate", "pad", "transpose", "reverse", "slice", "dynamic-slice", "broadcast", "cholesky", "iota"),
}
ADDRESS = 8  # bytes, in the table of results
TABLE_BYTES = 1 << 15  # of a TPU's tables of what it fetches and what it writes back, which are 16 KiB apart


class Applied(NamedTuple):
    """What one edit did to one value: `label` and `why` as reports show them; `row` is None for a whole schedule."""

    edit: Edit
    row: int | None
    label: str
    why: str


class NoCandidate(UsageError):
    """The value cannot be edited so: the message says why, and which edits are possible."""


class Plan:
    """A space with edits applied to it, one after the other: `slots` are the result, `own` the slots before.

    `is_rescheduled` is whether any schedule is possible.
    """

    def __init__(self, space: Space, slots: Slots | None = None) -> None:
        self.space = space
        self.own = slots or slots_of(space)
        self.slots = self.own.copy()
        self.begun = set(self.slots.body)  # the bodies that it began with
        self.moved: dict[int, int] = {}  # allocations of outputs that stand in the one of a donated parameter
        self._hosted: list[tuple] = []  # slots of what was moved to the host, while it is there
        self.is_rescheduled = False
        self.applied: list[Applied] = []
        # Rows that may live elsewhere, or for longer: from and up to which position, and the end of their slot then.
        self.copies: list[tuple[int, int, int, int]] = []
        self.displaced: list[int] = []  # rows that stand in an output, and may have to stand elsewhere
        self._fading: list[int] = []  # rows that a compiler could do without altogether
        self.guests: set[int] = set()  # rows that may take the place of a donated parameter when they begin
        self.prefetched: list[int] = []  # rows that a TPU may fetch or write in another way than it did
        self._lives: dict[int, Edit] = {}  # the edit of each value that changed when it is alive
        self._shapes: dict[int, str] = {}  # of values whose size changed
        self._former: dict[int, int] = {}  # the bytes that these had
        self._read_again: dict[int, set[int]] = {}  # where operands are read to compute a value again
        self._to_resize: set[int] = set()  # allocations of which something was taken
        self._unreturned: set[int] = set()  # rows that are no longer results: none of them takes a parameter's place
        self._donated: dict[int, int] = {}  # donated parameters, and when each is read for the last time

    @property
    def needs_place(self) -> bool:
        """Whether the arena may have to hold more than the slots, or for longer."""
        return bool(self.copies or self.displaced)

    @cached_property
    def fixed(self) -> dict[int, int]:
        """The bytes of the allocations outside the arena, on demand: there may be thousands, few edits need them."""
        return self.space.fixed.copy()

    @cached_property
    def _rows(self) -> dict[int, list[int]]:
        """The slots of each value."""
        found: dict[int, list[int]] = {}
        for at, row in enumerate(self.slots.value):
            found.setdefault(row, []).append(at)
        return found

    @cached_property
    def _members(self) -> Counter[int]:
        """How many slots each body has."""
        return Counter(self.slots.body)

    def apply(self, edits: Iterable[Edit]) -> "Plan":
        """Apply edits, all together and once: the result does not depend on their order.

        In a group (`*`, `op_name=`, `line=`) only values that can be edited so are edited; a value that is named must
        be one of these. `applied` lists donations, sizes and lives, each kind in its order.

        Raises:
            UsageError: an edit names no value, or a value that cannot be edited so.
        """
        given = [(edit, [] if edit.kind == "reschedule" else chosen(self.space, edit)) for edit in edits]
        steps = in_order(given, self._argument)
        self._unreturned.update(row for edit, rows in steps if edit.kind in ("free", "remove") for row in rows)
        self._note_reads(steps)
        for edit, rows in steps:
            if edit.kind == "reschedule":
                self.is_rescheduled = True
                self.applied.append(Applied(edit, None, "bound", _RESCHEDULE))
                continue
            is_group = len(rows) > 1 or edit.value == "*"
            refusals = []
            for row in rows:
                try:
                    self.apply_one(edit, row)
                except NoCandidate as error:
                    if not is_group:
                        raise
                    refusals.append(error)
            if len(refusals) == len(rows):
                first = str(refusals[0]).removeprefix(f"{edit}: ")
                raise NoCandidate(f"{edit}: none of {counted(len(rows), 'value')} can be edited this way; {first}")
        self._judge_donations()
        self._return_less()
        self._read_instead()
        place = {edit: number for number, (edit, _) in reversed([*enumerate(given)])}
        self.applied.sort(key=lambda one: (phase(one.edit), place[one.edit]))
        for allocation in self._to_resize:
            self._resize(allocation)
        for row, positions in self._read_again.items():
            if row not in self._lives or self._lives[row].kind == "free":
                self._extend(row, max(positions, default=0))
        if not all(self.slots.size_bytes):
            self.slots.keep(at for at, size in enumerate(self.slots.size_bytes) if size)
            for places in ("_rows", "_members"):
                self.__dict__.pop(places, None)
        self._shrink_bodies()
        return self

    def _note_reads(self, steps: Sequence[tuple[Edit, Sequence[int]]]) -> None:
        """Note where the operands of values that are computed again are read; values that read others come first."""
        lives: dict[int, Edit] = {}  # the first edit of a value decides
        for edit, rows in steps:
            lives |= {row: edit for row in rows if edit.kind in LIVES and row not in lives}
        again = [row for row, edit in lives.items() if edit.kind == "remat"]
        starts = self.space.columns["start"]
        for row in sorted(again, key=lambda row: (starts[row], row), reverse=True):
            with suppress(NoCandidate):
                _, positions = self._computed(lives[row], row)
                for operand in self.space.operands[row]:
                    self._read_again.setdefault(operand, set()).update(positions)

    def apply_one(self, edit: Edit, row: int) -> None:
        """Apply an edit to one value.

        Raises:
            NoCandidate: the value cannot be edited so.
        """
        if row in self._lives:
            earlier = self._lives[row]
            if edit.kind in SIZES or not (earlier.kind == "donate" and edit.kind == "free"):
                raise NoCandidate(f"{edit}: {self.space.name(row)} is edited already: {earlier}")
        label, why = _EDITS[edit.kind](self, edit, row)
        if edit.kind in LIVES or edit.kind == "donate":
            self._lives[row] = edit
        self.applied.append(Applied(edit, row, label, why))

    def refused(self, edit: Edit, row: int, why: str) -> NoCandidate:
        """Return the error for a value that cannot be edited so."""
        return NoCandidate(f"{edit}: {self.space.name(row)} {why}")

    def shape(self, row: int) -> str:
        """Return the shape of a value after the edits so far."""
        return self._shapes.get(row) or self.space.columns["shape"][row]

    def _slot(self, edit: Edit, row: int) -> int:
        found = self._rows.get(row)
        if not found:
            raise self.refused(edit, row, "takes no bytes")
        return found[0]

    def _uses(self, edit: Edit, row: int) -> list[int]:
        """Return the positions at which a value is read, never before its start."""
        if self.space.columns["uses_state"][row] not in ("listed", "empty"):
            raise self.refused(edit, row, "has no listed uses: the dump does not say when it is read for the last time")
        uses = self.space.uses[row]
        if None in uses:
            raise self.refused(edit, row, "is read outside the schedule: the dump does not say when")
        start = self.space.columns["start"][row]
        return sorted({max(at, start) for at in (*uses, *self._read_again.get(row, ()))})

    # The edits: each changes the slots, and returns its label and the reason.

    def _free(self, edit: Edit, row: int) -> tuple[str, str]:
        kind = self.space.columns["role"][row]
        if kind == "parameter" and row not in self._lives:
            raise self.refused(edit, row, f"is a parameter, which its caller keeps: donate it first, with donate:"
                               f"{self.space.name(row)}")  # fmt: skip
        if kind == "constant":
            raise self.refused(edit, row, "is a constant, which is part of the program: it cannot be freed")
        at, uses = self._slot(edit, row), self._uses(edit, row)
        if kind == "output" and row in self.space.results:
            uses = [use for use in uses if use != self.space.root]  # what returned it
        last = max(uses, default=self.space.columns["start"][row])
        if kind == "output":
            self._to_arena(row)
            self._fading += self._carried(row)
            if not uses:
                self._drop_slots(self._rows.get(row, ()))
                return "bound", "it is no longer returned, and nothing else reads it; the compiler may schedule anew"
            self.slots.end[at] = min(self.slots.end[at], last)
            start, end = self.space.columns["start"][row], self.space.columns["end"][row]
            self.copies.append((row, start, end, start - 1))  # what reads it may come last
            return "bound", "it is no longer returned: a temporary until its last use, or fused into what reads it"
        self.slots.end[at] = min(self.slots.end[at], last)
        return "bound", "it is dead after its last use; the compiler may schedule anew"

    def _carried(self, row: int) -> list[int]:
        """Return a value and those that go with it: a loop carries one value after the other in the same bytes."""
        c = self.space.columns
        held = self.space.held[c["allocation"][row]] if c["is_phi"][row] else [row]
        return [one for one in held if c["size_bytes"][one] == c["size_bytes"][row]]

    def _return_less(self) -> None:
        """Remove the addresses of outputs that are no longer returned from the table of results.

        Code that only computes these outputs is dead, and a compiler leaves it out.
        """
        space, c = self.space, self.space.columns
        dropped = self._dropped
        for row in dropped | self._removed:
            self._note_prefetch(row)
        if space.table is None or not dropped:
            return
        table, allocation = space.table, c["allocation"][space.table]
        count, size = space.table_arity, c["size_bytes"][table]
        kept = (count or 0) - len(dropped)
        if count and (kept < 2 or size == count * ADDRESS):  # those of TPUs have room that the addresses do not fill
            size = kept * ADDRESS if kept > 1 else 0  # a single result needs none
            for at in self._rows.get(table, ()):
                self.slots.size_bytes[at] = size
            if space.allocations[allocation][1] == c["size_bytes"][table]:
                self.fixed[allocation] = size

    @property
    def _dropped(self) -> set[int]:
        """The rows of results that are no longer returned."""
        roles = self.space.columns["role"]
        gone = {row for row, edit in self._lives.items() if edit.kind in ("free", "remove")}
        return {row for row in gone if row in self.space.results and roles[row] != "parameter"}

    @property
    def _removed(self) -> set[int]:
        """The rows of values that are removed, results and others."""
        return {row for row, edit in self._lives.items() if edit.kind == "remove"}

    @property
    def is_less(self) -> bool:
        """Whether results are dropped, or values removed."""
        return bool(self._dropped or self._removed)

    @cached_property
    def _dead(self) -> DeadCode:
        """The dead code without dropped results and removed values; computed on demand, as rankings do not need it."""
        return DeadCode(self.space, self._dropped, self._removed)

    @property
    def fading(self) -> list[int]:
        """The rows that a compiler may leave out altogether."""
        return self._fading + (self._dead.rows if self.is_less else [])

    @property
    def fading_bytes(self) -> int:
        """The bytes of constants that a compiler may leave out then."""
        return self._dead.constant_bytes if self.is_less else 0

    def _read_instead(self) -> None:
        """Note that readers of a removed value may read its operands instead, which then live as long."""
        space, c = self.space, self.space.columns
        until: dict[int, int] = {}
        removed = self._removed
        left = [(row, c["end"][row]) for row in removed if c["role"][row] == ARENA]
        while left:
            row, end = left.pop()
            if c["opcode"][row] in CALLS:  # the first value of a loop does not take the place of its result
                continue
            for operand in space.operands[row]:
                if c["role"][operand] == ARENA and until.get(operand, c["end"][operand]) < end:
                    until[operand] = end
                    left += [(operand, end)] if operand in removed else []
        self.copies += [(row, c["start"][row], end, c["start"][row] - 1) for row, end in until.items()]

    def _remove(self, edit: Edit, row: int) -> tuple[str, str]:
        kind = self.space.columns["role"][row]
        if kind == "parameter":
            raise self.refused(edit, row, "is a parameter, which its caller keeps: donate, shard, shrink or offload it")
        self._slot(edit, row)
        if kind == "output":
            self._to_arena(row)
        allocation = self.space.columns["allocation"][row]
        self._drop_slots(self._rows.get(row, ()))
        if kind == "constant":
            self._to_resize.add(allocation)
        if self._is_read(row):
            return "estimate", _REMOVED
        return "bound", "it is gone, and nothing else reads it; the compiler may schedule anew"

    def _is_read(self, row: int) -> bool:
        """Return whether an instruction other than the one that returns a value reads it, or may read it."""
        space = self.space
        returned = {space.root} if row in space.results else set()
        return space.columns["uses_state"][row] not in ("listed", "empty") or not returned.issuperset(space.uses[row])

    def _donate(self, edit: Edit, row: int) -> tuple[str, str]:
        c, allocation = self.space.columns, self.space.columns["allocation"][row]
        if c["role"][row] != "parameter":
            raise self.refused(edit, row, f"is of kind {c['role'][row]}: only parameters of the program are donated")
        if allocation in self.space.live_out:
            raise self.refused(edit, row, "is donated already: an output stands in its place")
        at, uses = self._slot(edit, row), self._uses(edit, row)
        last = max(uses, default=c["start"][row])
        output = self._output_for(edit, row, last)
        self.slots.end[at] = min(self.slots.end[at], last)
        together = [there for one in (output.allocation, allocation) for there in self._in(one)]
        self._members.subtract(self.slots.body[there] for there in together)
        for there in together:
            self.slots.body[there] = self.slots.body[at]
        self._members[self.slots.body[at]] += len(together)
        self.fixed[output.allocation] = 0
        self.moved[output.allocation] = allocation
        self._donated[row] = last
        self._note_prefetch(row)
        return "bound", _IN_PLACE  # `_judge_donations` replaces this when all donations are known

    def _argument(self, row: int) -> tuple[int, int]:
        """Return the place of a parameter among the arguments: leaves of one share its number, and are in order."""
        return self.space.columns["parameter"][row] or 0, self.space.columns["value_id"][row]

    def _judge_donations(self) -> None:
        """Label the donations, and note what the compiler may have to place elsewhere.

        The caller does not choose which output takes a parameter's place: JAX pairs those of one shape in their order.
        """
        if not self._donated:
            return
        pairs: dict[int, tuple[str, str]] = {}
        by_shape: dict[tuple[str, int], list[int]] = {}
        rank: dict[int, int] = {}  # among the donated parameters of as many bytes
        counts: Counter[int] = Counter()
        c = self.space.columns
        for row in sorted(self._donated, key=self._argument):
            size = self.space.allocations[c["allocation"][row]][1]
            by_shape.setdefault((array_shape(c["shape"][row]), size), []).append(row)
            rank[row] = counts[size]
            counts[size] += 1
        outputs: dict[int, list[Output]] = {}
        for one in self.space.outputs:
            if one.row not in self._unreturned:
                outputs.setdefault(one.size_bytes, []).append(one)
        for (shape, size), rows in by_shape.items():
            own = [one for one in outputs.get(size, ()) if one.array_shape == shape]
            for row, output in zip(rows, own, strict=False):
                pairs[row] = self._judged(row, output)
                other = outputs[size][rank[row]]
                if other is not output:
                    pairs[row] = self._judged_elsewhere(row, other, *pairs[row])
        self.applied = [
            one._replace(label=pairs[one.row][0], why=_IN_PLACE + pairs[one.row][1])
            if one.edit.kind == "donate" and one.row in pairs
            else one
            for one in self.applied
        ]

    def _judged_elsewhere(self, row: int, other: Output, label: str, why: str) -> tuple[str, str]:
        """Return the label and the reason of a donation if XLA chooses the output instead of JAX.

        It does so in a program for several devices without `out_shardings`, and pairs parameters and results by bytes
        alone, in their order (`OptimizeInputOutputBufferAlias`). A dump does not say for how many devices it is.
        """
        noted = self._doubt_count
        self._judged(row, other)
        return ("bound", why + _OTHER_OUTPUT) if self._doubt_count > noted else (label, why)

    @property
    def _doubt_count(self) -> int:
        """How many values may be placed elsewhere, or live longer, than the slots say."""
        return len(self.copies) + len(self.displaced) + len(self.guests)

    def _judged(self, row: int, output: Output) -> tuple[str, str]:
        """Return the label and the reason of a donation to an output.

        The compiler adds and removes copies before it has a schedule, so instructions without an order by operands may
        come in any order.
        """
        space, c, last = self.space, self.space.columns, self._donated[row]
        birth, end = c["start"][output.row], c["end"][output.row]
        before = space.before(c["instruction"][output.row])
        is_behind = self._is_behind(output.row, row)
        stood = [one for one in space.held[output.allocation] if one != output.row]
        guests = self._guests(row, birth)
        self.guests |= guests
        beside = [one for one in stood if not self._is_behind(one, row)]
        if not is_behind or birth <= last or beside:
            self._note_table(output.row)
        if not is_behind or birth <= last:
            # The compiler may copy it before everything else.
            self.copies.append((row, c["start"][row], self._read_until(row, max(birth, last)), min(birth, last) - 1))
            if before is None or c["instruction"][row] not in before:
                self.copies.append((output.row, birth, end, birth - 1))  # it is computed elsewhere, and copied there
            self.displaced += stood
            why = "but it is read when that is born" if birth <= last else "but it may be read when that is born"
            return "bound", why + ": it may be copied"
        if output.birth <= last:
            self.displaced += stood
            return "bound", "but what used the output's bytes before needs another place"
        if beside:
            # A compiler decides on copies before it has a schedule: in another schedule these may come first.
            self.displaced += beside
            return "bound", "but what used the output's bytes may need another place"
        if self.space.copy_tables:
            return "bound", "born after its last use; the compiler may fetch into VMEM anew"
        if guests:
            return "bound", "born after its last use; a temporary may be there in between"
        if space.arena_count > 1:
            return "bound", "born after its last use; the compiler may place temporaries anew"
        return "exact", "born after its last use, and there are no temporaries to place anew"

    def _note_table(self, row: int) -> None:
        """Note the table of an instruction of several results, one of which is copied: the copies have their own."""
        c = self.space.columns
        for one in self.space.made[c["instruction"][row]]:
            table = (one, c["start"][one], c["end"][one], c["end"][one])
            if c["is_tuple"][one] and c["role"][one] == "output" and table not in self.copies:
                self.copies.append(table)

    def _is_behind(self, row: int, parameter: int) -> bool:
        """Return whether a value is computed from all readers of a parameter: then it begins after the last use."""
        before = self.space.before(self.space.columns["instruction"][row])
        return before is not None and before.issuperset(self.space.readers[parameter])

    def _guests(self, row: int, birth: int) -> set[int]:
        """Return the temporaries that may be in the place of a donated parameter before its output begins.

        A value may take the place of an operand with as many bytes; of a parameter only if that is donated
        (`HloDataflowAnalysis::CanShareOperandBufferWithUser`).
        """
        space, c = self.space, self.space.columns
        found, left = set(), [row]
        while left:
            for reader in space.readers[left.pop()]:
                for one in space.made.get(reader, ()):
                    is_wanted = c["role"][one] == ARENA and c["end"][one] <= birth and one not in found
                    if is_wanted and self.may_replace(row, one):
                        found.add(one)
                        left.append(one)
        return found

    def _last_reads(self) -> Iterator[tuple[int, int]]:
        """Yield the temporaries that may end earlier than in the dump, each with its last position then.

        A compiler may leave out their last reader. The reader that is then the last may take their place, if it has as
        many bytes: at that moment the bytes of both count once.
        """
        c, space = self.space.columns, self.space
        for row, role in enumerate(c["role"]):
            if role != ARENA or None in space.uses[row] or c["uses_state"][row] not in ("listed", "empty"):
                continue
            end = c["end"][row]
            if end in self._dead.positions:
                end = max((at for at in space.uses[row] if at not in self._dead.positions), default=c["start"][row])
            read = (one for reader in space.readers[row] for one in space.made.get(reader, ()))
            if any(self.may_replace(row, one) for one in read if c["start"][one] == end):
                end -= 1
            if end < c["end"][row]:
                yield row, end

    def may_replace(self, row: int, reader: int) -> bool:
        """Return whether a reader of a value may take its place, with as many bytes."""
        c = self.space.columns
        operations = {c["opcode"][reader], (c["op_name"][reader] or "").rpartition("/")[2]}
        return c["size_bytes"][reader] == c["size_bytes"][row] and not operations & _NOT_IN_PLACE

    @cached_property
    def _temporaries(self) -> list[int]:
        """The rows of temporaries, the latest start first."""
        c = self.space.columns
        rows = [row for row, role in enumerate(c["role"]) if role == ARENA]
        return sorted(rows, key=lambda row: c["start"][row], reverse=True)

    def _read_until(self, row: int, last: int) -> int:
        """Return up to where a copy may be read: together with each temporary that may begin before the last reader."""
        space, c = self.space, self.space.columns
        readers = {*space.readers[row]}
        for other in self._temporaries:
            if c["start"][other] <= last:
                break
            before = space.before(c["instruction"][other])
            if before is None or not before.issuperset(readers):
                return c["start"][other]
        return last

    def _output_for(self, edit: Edit, row: int, last: int) -> Output:
        """Return an output that can take the place of a parameter: the first that begins after the last read of it.

        Raises:
            NoCandidate: there is none.
        """
        shape = array_shape(self.space.columns["shape"][row])
        size = self.space.allocations[self.space.columns["allocation"][row]][1]
        fitting = [
            one
            for one in self.space.outputs
            if (one.array_shape, one.size_bytes) == (shape, size) and one.row not in self._unreturned
        ]
        left = [one for one in fitting if self.fixed[one.allocation] == one.size_bytes]
        if not left:
            others = any(self.fixed[one.allocation] for one in self.space.of_as_many_elements(row))
            taken = _OUTPUTS_TAKEN.format(counted(len(fitting), "output")) + (_MAY_TAKE if others else _IGNORED)
            why = taken if fitting else _NO_OUTPUT
            raise self.refused(edit, row, f"has no output {why}")
        return min(left, key=lambda one: (one.birth <= last, one.birth, one.allocation))

    def _give_shape(self, edit: Edit, row: int, shape: Shape) -> None:
        """Give a value the slot of another shape, which takes fewer bytes."""
        at = self._slot(edit, row)
        old = parse_shape(self.shape(row))
        if shape.physical_bytes is None or not old.physical_bytes:
            raise self.refused(edit, row, "has a shape whose bytes are not known")
        slot = self.slots.size_bytes[at]
        size = shape.physical_bytes + max(slot - old.physical_bytes, 0)
        if size >= slot:
            as_many = f"as many bytes: {slot:,} B" if size == slot else f"more bytes: {size:,} B, now {slot:,} B"
            raise self.refused(edit, row, f"would take {as_many}")
        self._shapes[row] = shape.shape_text
        self._former.setdefault(row, slot)
        for there in self._rows[row]:
            self.slots.size_bytes[there] = size
        if not self.slots.is_arena[at]:
            self._to_resize.add(self.space.columns["allocation"][row])

    def _shrink(self, edit: Edit, row: int) -> tuple[str, str]:
        self._array(edit, row)
        shape = parse_shape(with_type(self.shape(row), edit.dtype or ""))
        if shape.element_bits is None:
            raise self.refused(edit, row, f"cannot be {edit.dtype}: the bytes of that element type are not known")
        self._give_shape(edit, row, shape)
        return "estimate", f"its slot as {edit.dtype} with the tiles of that type; conversions may need room"

    def _unpad(self, edit: Edit, row: int) -> tuple[str, str]:
        old = self._array(edit, row)
        if not self.space.columns["padding_bytes"][row]:
            raise self.refused(edit, row, "has no padding by tiles")
        self._give_shape(edit, row, old._replace(physical_bytes=flat_bytes(old)))
        return "bound", "its slot as a vector of all its elements, without the padding by the tiles of its dimensions"

    def _shard(self, edit: Edit, row: int) -> tuple[str, str]:
        old = self._array(edit, row)
        # Sizes are those of the dump, even if a value was divided before: so the order of edits does not matter.
        sizes = parse_shape(self.space.columns["shape"][row]).dims
        places = [edit.dimension]
        if edit.dimension is None:
            places = [place for place, found in enumerate(sizes) if found == edit.size][:1]
        if not places or places[0] >= len(old.dims) or (old.dims[places[0]] or 0) < edit.parts:
            wanted = f"of {edit.size}" if edit.dimension is None else str(edit.dimension)
            raise self.refused(edit, row, f"has no dimension {wanted} that {edit.parts} devices could share: "
                               f"{self.shape(row)}")  # fmt: skip
        dims = [-(-size // edit.parts) if place in places else size for place, size in enumerate(old.dims)]
        text = self.shape(row)
        inside = ",".join(map(str, dims))
        text = f"{text[: text.index('[')]}[{inside}{text[text.index(']') :]}"
        self._give_shape(edit, row, parse_shape(with_fitting_tiles(text)))
        return "estimate", f"dimension {places[0]} over {edit.parts} devices, with tiles; collectives may need room"

    def _array(self, edit: Edit, row: int) -> Shape:
        shape = parse_shape(self.shape(row))
        if shape.tuple_arity is not None or shape.element_type is None or shape.is_dynamic or shape.dims is None:
            raise self.refused(edit, row, "is no array of a known size")
        return shape

    def _computed(self, edit: Edit, row: int) -> tuple[int | None, list[int]]:
        """Return the use up to which a recomputed value stays, None for none, and where it is computed again."""
        c = self.space.columns
        if c["role"][row] != ARENA:
            raise self.refused(edit, row, f"is of kind {c['role'][row]}: only temporaries are computed again")
        if c["is_phi"][row] or c["opcode"][row] in _NOT_AGAIN or c["opcode"][row] is None:
            raise self.refused(edit, row, f"cannot be computed again: it is made by {c['opcode'][row] or 'a merge'}")
        self._slot(edit, row)
        uses = self._uses(edit, row)
        if not uses:
            raise self.refused(edit, row, "is never read: remove it")
        is_kept = len(uses) > 1 and uses[0] <= c["end"][row]
        kept, again = (uses[0], uses[1:]) if is_kept else (None, uses)
        return kept, [position for position in again if position > c["start"][row]]

    def _remat(self, edit: Edit, row: int) -> tuple[str, str]:
        kept, again = self._computed(edit, row)
        at, start = self._slot(edit, row), self.space.columns["start"][row]
        end = self.slots.end[at]
        self.slots.end[at] = min(end, start if kept is None else kept)
        for position in again:
            self._added(row, self.slots.size_bytes[at], position, position, until=end)
        if kept is None and again:
            self._drop_slots([at])
        why = "it dies after its first use and is computed again before each later use, from operands that live on"
        return "estimate", why

    def _offload(self, edit: Edit, row: int) -> tuple[str, str]:
        c = self.space.columns
        if self.space.memory_space == HOST:
            raise self.refused(edit, row, "is in the memory of the host already")
        if c["role"][row] not in (ARENA, "parameter"):
            raise self.refused(edit, row, f"is of kind {c['role'][row]}: temporaries and parameters can be offloaded")
        at, uses = self._slot(edit, row), self._uses(edit, row)
        size = self.slots.size_bytes[at]
        is_parameter = c["role"][row] == "parameter"
        start = self.slots.start[at]
        stretches = [] if is_parameter else [(start, min(start + edit.window, self.slots.end[at]))]
        allocation, own, life = c["allocation"][row], [*self._rows[row]], (start, self.slots.end[at])
        # Inside a loop, for example, it is read when another value has its bytes; a recomputed value reads its own.
        again = self._read_again.get(row, ())
        uses = sorted({use if use in again else min(use, life[1]) for use in uses})
        stretches += [(max(use - edit.window, start), use) for use in uses]
        found = merged(stretches, within=2)  # both ends are included: what adjoins is one stretch
        for begin, end in found:
            self._added(row, size, begin, end, until=life[1])
        if not is_parameter:  # a parameter is on the host from the first to the last
            life = found[0][1] + 1, found[-1][0] - 1
        if life[0] <= life[1]:
            self._hosted.append((row, self.slots.body[at], self.slots.offset_bytes[at], size, *life, False))
        self._drop_slots(own)
        if is_parameter:
            self._to_resize.add(allocation)
        return "estimate", f"it is on the device {counted(edit.window, 'position')} around each use, else on the host"

    # Steps that edits share.

    def _added(self, row: int, size: int, start: int, end: int, until: int = -1) -> None:
        """Add a slot of a value; up to `until` it stays in the bytes that it shares with others, before or after it."""
        own, members = self._rows[row], self._members
        if end <= until and members[self.slots.body[own[0]]] > 1:
            self.slots.add_part(own[0], start=start, end=end)
        else:
            self.slots.add(own[0], size=size, start=start, end=end)
        own.append(len(self.slots.value) - 1)
        members[self.slots.body[-1]] += 1

    @property
    def host_bytes(self) -> int:
        """The most bytes that are on the host at a moment: of each value from leaving the device until it is back."""
        return timeline(Slots(*map(list, zip(*self._hosted, strict=True)))).peak if self._hosted else 0

    def _extend(self, row: int, position: int) -> None:
        """Let a temporary live up to a position; values that XLA places on it stay, so it continues elsewhere."""
        if self.space.columns["role"][row] != ARENA or not self._rows.get(row):
            return
        at = max(self._rows[row], key=lambda there: self.slots.end[there])
        end = self.slots.end[at]
        if end >= position:
            return
        is_alone = self.slots.is_arena[at] and self._members[self.slots.body[at]] == 1
        if is_alone:
            self.slots.end[at] = position
        else:
            self._added(row, self.slots.size_bytes[at], end + 1, position)

    def _to_arena(self, row: int) -> None:
        """Make an output's allocation one of temporaries, with everything else in it."""
        allocation = self.space.columns["allocation"][row]
        for at in self._in(allocation):
            self.slots.is_arena[at] = True
        self.fixed[allocation] = 0

    def _drop_slots(self, places: Iterable[int]) -> None:
        """Make slots empty: `apply` removes them together, because the places of the others must stay until then."""
        for at in list(places):
            self.slots.size_bytes[at] = 0
            self._rows[self.slots.value[at]].remove(at)

    def _in(self, allocation: int) -> list[int]:
        """Return the slots of the values of an allocation, as XLA has them."""
        return [at for row in self.space.held.get(allocation, ()) for at in self._rows.get(row, ())]

    def holder(self, value: int) -> int:
        """Return the allocation outside the arena that holds a value: after a donation that of the parameter."""
        allocation = self.space.columns["allocation"][value]
        return self.moved.get(allocation, allocation)

    def _resize(self, allocation: int) -> None:
        """Give an allocation outside the arena the bytes that its slots need, with the slack that it had."""
        c, allocation = self.space.columns, self.moved.get(allocation, allocation)
        before = max((c["offset_bytes"][row] + c["size_bytes"][row] for row in self.space.held[allocation]), default=0)
        held = [allocation, *(other for other, place in self.moved.items() if place == allocation)]
        rows = [at for one in held for at in self._in(one) if not self.slots.is_arena[at]]
        after = max((self.slots.offset_bytes[at] + self.slots.size_bytes[at] for at in rows), default=0)
        slack = max(self.space.allocations[allocation][1] - before, 0)
        self.fixed[allocation] = after + slack if after else 0

    def with_copies(self) -> Slots:
        """Return the slots with copies that the compiler may need, and values that may live elsewhere or longer."""
        found, gone = self.slots.copy(), set()
        for row, start, end, last in self.copies:
            if self._rows.get(row):
                at = self._rows[row][0]
                found.add(at, size=found.size_bytes[at], start=start, end=end)
                found.end[at] = last
                gone |= {at} if last < found.start[at] else set()
        for row in self.displaced:
            for at in [place for place in self._rows.get(row, ()) if place not in gone]:
                found.add(at, size=found.size_bytes[at], start=found.start[at], end=found.end[at])
                gone.add(at)
        found.keep(at for at in range(len(found.value)) if at not in gone)
        return found

    def _note_prefetch(self, row: int) -> None:
        """Note that a value that is moved, or no longer needed, is fetched in another way: tables may come or go."""
        if self.space.copy_tables:
            self.prefetched.append(row)

    def without_fading(self) -> Slots:
        """Return the slots without values that the compiler may leave out, with guests in the place of their hosts."""
        fading = [*self.fading, *(self.space.copy_tables if self.prefetched else ())]
        found, gone = self.slots.copy(), {at for row in fading for at in self._rows.get(row, ())}
        # When a guest begins, the value whose place it takes is read for the last time, in the same bytes.
        for row in self.guests:
            for at in self._rows.get(row, ()):
                found.start[at] += 1
                gone |= {at} if found.start[at] > found.end[at] else set()
        # If fewer values stand in outputs, the last reader of another one may take its place, there too.
        for row, last in self._last_reads() if self.is_less else ():
            for at in self._rows.get(row, ()):
                found.end[at] = max(min(found.end[at], last), found.start[at])
        found.keep(at for at in range(len(found.value)) if at not in gone)
        return found

    def _shrink_bodies(self) -> None:
        """Move the slots of shrunk bodies closer together, as far as the bytes before each of them shrank."""
        if not self._former:
            return
        bodies = {self.slots.body[at] for row in self._former for at in self._rows.get(row, ())}
        members: dict[int, list[int]] = {body: [] for body in bodies}
        for at, body in enumerate(self.slots.body):
            if body in members:
                members[body].append(at)
        for rows in members.values():
            self._shrink_body(rows)

    def _shrink_body(self, rows: Sequence[int]) -> None:
        """Move the slots of one body: a byte shrinks like the slot on it that shrinks least.

        Slots without a common byte have none afterwards, even after alignment.
        """
        slots, step = self.slots, self.space.alignment
        former = {at: self._former.get(slots.value[at], slots.size_bytes[at]) for at in rows}
        beginning: dict[int, list[int]] = {}
        for at in rows:
            beginning.setdefault(slots.offset_bytes[at], []).append(at)
        ends = {at: slots.offset_bytes[at] + former[at] for at in rows}
        edges = sorted({*beginning, *ends.values()})
        there: list[tuple[float, int]] = []  # minus the scale of each slot that has begun, and where it ends
        offset: float = edges[0]
        for begin, end in pairwise(edges):
            if begin in beginning and offset != begin:
                offset = edges[0] - (-int(offset - edges[0]) // step) * step
            for at in beginning.get(begin, ()):
                slots.offset_bytes[at] = int(offset)
                heappush(there, (-slots.size_bytes[at] / former[at], ends[at]))
            while there and there[0][1] <= begin:
                heappop(there)
            offset += (end - begin) * (-there[0][0] if there else 1.0)


_IN_PLACE = "an output of its shape takes its place, "
# What stands in brackets is of JAX: the program may be of another framework.
_OTHER_OUTPUT = (
    "; on several devices XLA may place another output of as many bytes there, with a copy (in JAX without "
    "out_shardings)"
)
_OUTPUTS_TAKEN = "left: arguments before it take the {} of its shape; "
_IGNORED = "leave this donation out (JAX ignores it, with a warning)"
_MAY_TAKE = "one of as many elements is not computed here (JAX may take it from 0.8 on)"
_NO_OUTPUT = (
    "of its shape that could take its place; one of as many elements is not computed here (JAX takes it from 0.8 on)"
)
_REMOVED = "it is gone, perhaps with what was computed for it alone; its operands may live on in its place"
_RESCHEDULE = "in any order of the instructions, the operands and results of each are alive at the same moment"
_EDITS: dict[str, Callable[[Plan, Edit, int], tuple[str, str]]] = {
    "free": Plan._free,
    "remove": Plan._remove,
    "donate": Plan._donate,
    "shrink": Plan._shrink,
    "unpad": Plan._unpad,
    "remat": Plan._remat,
    "offload": Plan._offload,
    "shard": Plan._shard,
}
