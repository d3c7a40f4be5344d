"""The bytes of a memory space before and after edits: the occupied peak, and an interval for the arena."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from bufferhouse.errors import UsageError
from bufferhouse.whatif.edits import Edit
from bufferhouse.whatif.packing import WORK, Packing, bodies_of, pack
from bufferhouse.whatif.placement import Placement, placed
from bufferhouse.whatif.plan import TABLE_BYTES, Applied, Plan
from bufferhouse.whatif.slots import Slots, lower_bound, timeline
from bufferhouse.whatif.space import Space

NO_LIVE_RANGES = (
    "the dump has no live ranges: it says how large each value is, not when it is alive, so neither a peak nor what a "
    "change would be worth can be told; dumps of XLA since 2021-04 have them, and "
    "since 2026-04 in a file of their own, …-live-range.txt"
)


class Bytes(NamedTuple):
    """Bytes of a memory space: occupied at the peak, of the arena between two bounds, and all allocations together.

    `peak_position` is the first at which the occupied peak is reached; None if nothing is alive, or the schedule may be
    any. The bounds of `reserved` are those of the arena with the other allocations; a compiler may leave out
    `fading_bytes` of them. `is_cut` is whether the packer's search was cut short while the bounds were apart.
    """

    occupied_bytes: int
    arena_low_bytes: int
    arena_high_bytes: int
    other_bytes: int
    host_bytes: int = 0
    packer: str = "none"
    is_cut: bool = False
    peak_position: int | None = None
    fading_bytes: int = 0

    @property
    def reserved_low_bytes(self) -> int:
        """The least that the memory space takes."""
        return self.other_bytes - self.fading_bytes + self.arena_low_bytes

    @property
    def reserved_high_bytes(self) -> int:
        """The bytes that it takes in the placement that was found."""
        return self.other_bytes + self.arena_high_bytes


class Outcome(NamedTuple):
    """Bytes before and after edits, and what each edit did; `before` has XLA's own arena.

    `placement` is the one that reaches the upper bound.
    """

    before: Bytes
    after: Bytes
    applied: Sequence[Applied]
    placement: Placement


def check_live_ranges(space: Space) -> None:
    """Check that a dump says when its values are alive.

    Raises:
        UsageError: it does not.
    """
    if not space.has_live_ranges:
        raise UsageError(NO_LIVE_RANGES)


def compute(space: Space, edits: Iterable[Edit], *, work: int = WORK) -> Outcome:
    """Return what edits together do to a memory space.

    Raises:
        UsageError: the dump has no live ranges, or an edit names no value, or one that cannot be edited so.
    """
    check_live_ranges(space)
    plan = Plan(space).apply(edits)
    packing, slots = packed(plan, work=work), plan.slots
    copied = _copied(plan, work) if plan.needs_place else None
    found = after(plan, packing, copied, work=work)
    if copied:
        packing, slots = copied, plan.with_copies()
    packing = packing._replace(high_bytes=found.arena_high_bytes)
    return Outcome(_as_it_was(plan), found, plan.applied, placed(plan, slots, packing))


def packed(plan: Plan, *, work: int = WORK) -> Packing:
    """Return a placement of the arena; XLA's own if no edit changed a slot of it."""
    if is_untouched(plan):
        bodies = bodies_of(plan.slots, plan.space.alignment)
        own = {body.number: body.offset_bytes for body in bodies}
        low = lower_bound(plan.slots, plan.space.alignment)
        return Packing(own, plan.space.arena_bytes, low, "xla" if bodies else "none")
    return pack(plan.slots, plan.space.alignment, given=True, work=work)


def _copied(plan: Plan, work: int) -> Packing:
    """Return a placement of the arena with all copies that the compiler may have to make."""
    return pack(plan.with_copies(), plan.space.alignment, work=work)


def before(space: Space) -> Bytes:
    """Return the bytes of a space as XLA has them."""
    return _as_it_was(Plan(space))


def _as_it_was(plan: Plan) -> Bytes:
    space, line = plan.space, timeline(plan.own)
    other = space.reserved_bytes - space.arena_bytes
    return Bytes(line.peak, space.arena_bytes, space.arena_bytes, other, packer="xla", peak_position=line.position)


def after(plan: Plan, packing: Packing | None = None, copied: Packing | None = None, *, work: int = WORK) -> Bytes:
    """Return the bytes of a space after edits, with its arena as in `packing`, else packed; without edits XLA's own.

    `copied` is a placement with the copies that the compiler may have to make, if it was computed before.
    """
    other = sum(plan.fixed.values())
    line = timeline(plan.slots)
    occupied, position = line.peak, line.position
    if not plan.applied:
        return _as_it_was(plan)
    packing = packing or packed(plan, work=work)
    low, high = packing.low_bytes, packing.high_bytes
    if is_untouched(plan):
        low = high
    if plan.fading or plan.prefetched or plan.guests:
        left = plan.without_fading()
        low = min(low, lower_bound(left, plan.space.alignment))
        if plan.is_less or plan.guests:  # temporaries may stand in outputs whose former temporaries are gone
            low = min(low, max(timeline(left).peak - other, 0))
    if plan.needs_place:
        low = min(low, packing.low_bytes)
        # Then temporaries may take the place of values elsewhere, or in other outputs: all bytes alive count.
        low = min(low, max(occupied - other, 0))
        high = max(high, (copied or _copied(plan, work)).high_bytes)
    if plan.prefetched:  # the packer places tables closer than a TPU does
        high = max(high, plan.space.arena_bytes + len(plan.prefetched) * TABLE_BYTES)
    if plan.is_rescheduled:
        occupied, position = min(occupied, most_at_one_instruction(plan)), None  # the order of the dump is one, too
        # In another schedule temporaries may stand in outputs, and in donated parameters.
        held = most_at_one_instruction(plan, always=("parameter", "constant"))
        low = min(low, most_needed(plan, arena_only=True), max(held - other, 0))
    about = plan.host_bytes, packing.packer, packing.is_cut, position, plan.fading_bytes
    return Bytes(occupied, low, high, other, *about)


def is_untouched(plan: Plan) -> bool:
    """Return whether no edit changed a slot of the arena: then the compiler has the same input as before."""
    return _arena_rows(plan.own) == _arena_rows(plan.slots)


def _arena_rows(slots: Slots) -> list[tuple]:
    return sorted(
        (slots.value[at], slots.body[at], slots.size_bytes[at], slots.start[at], slots.end[at])
        for at in range(len(slots.value))
        if slots.is_arena[at]
    )


def most_at_one_instruction(plan: Plan, *, always: Collection[str] = ("parameter",)) -> int:
    """Return the least bytes of any schedule: those that are always there, with the most that one instruction needs.

    Or with all outputs, which are all there at the end, as all parameters are at the beginning. A donated parameter
    and a constant are alive until they are read for the last time; `always` are rows that always count, such as
    constants if allocations are counted.
    """
    slots, c = plan.slots, plan.space.columns
    places = [at for at, is_arena in enumerate(slots.is_arena) if not is_arena]
    donated = [at for at in places if c["role"][slots.value[at]] == "parameter" and _is_given_away(plan, at)]
    kept = {at for at in places if c["role"][slots.value[at]] in always} - {*donated}
    bodies = {slots.body[at] for at in kept}
    last = max(c["end"], default=0)
    outputs = [
        at for at in places
        if slots.body[at] not in bodies and c["kind"][slots.value[at]] in ("output", "parameter")
        and slots.end[at] == last and c["role"][slots.value[at]] != "parameter"
    ]  # fmt: skip
    at_once = max(_by_body(slots, outputs), _by_body(slots, donated))
    return _by_body(slots, kept) + max(most_needed(plan, arena_only=False, but=bodies), at_once)


def _is_given_away(plan: Plan, at: int) -> bool:
    """Return whether the parameter of a slot is donated, by the dump or by an edit: others take its place."""
    row = plan.slots.value[at]
    is_live_out = plan.space.columns["allocation"][row] in plan.space.live_out
    return is_live_out or plan.slots.end[at] < plan.space.columns["end"][row]


def _by_body(slots: Slots, rows: Iterable[int]) -> int:
    """Return the bytes of slots; if slots share bytes, only the largest counts."""
    sizes: dict[int, int] = {}
    for at in rows:
        sizes[slots.body[at]] = max(sizes.get(slots.body[at], 0), slots.size_bytes[at])
    return sum(sizes.values())


def most_needed(plan: Plan, *, arena_only: bool, but: Collection[int] = ()) -> int:
    """Return the most bytes that one instruction reads and writes: of temporaries, or of all but the bodies in `but`.

    An operand whose place the result may take counts once, because in another schedule nothing may read it later.
    """
    needed: dict[int, list[int]] = {}
    slots = plan.slots
    for at, row in enumerate(slots.value):
        if (slots.is_arena[at] or not arena_only) and slots.body[at] not in but:
            # Each slot of a value is there at some of its uses.
            uses = (use for use in plan.space.uses[row] if use is not None and slots.start[at] <= use <= slots.end[at])
            for position in {slots.start[at], *uses}:
                needed.setdefault(position, []).append(at)
    sums = (_by_body(slots, rows) - _in_place(plan, position, rows) for position, rows in needed.items())
    return max(sums, default=0)


def _in_place(plan: Plan, position: int, rows: Sequence[int]) -> int:
    """Return the bytes of results that begin at a position and may stand in those of operands, if the dump has both."""
    slots, roles = plan.slots, plan.space.columns["role"]
    born = [at for at in rows if slots.start[at] == position]
    born_bodies = {slots.body[at] for at in born}
    read = [
        at for at in rows if slots.body[at] not in born_bodies and roles[slots.value[at]] not in ("output", "constant")
    ]
    found = 0
    for at in born:
        taken = next((one for one in read if plan.may_replace(slots.value[one], slots.value[at])), None)
        if taken is not None:
            read = [one for one in read if slots.body[one] != slots.body[taken]]
            found += slots.size_bytes[taken]
    return found
