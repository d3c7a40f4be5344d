"""The places of the slots of a memory space after edits: the allocations, and the bytes of each slot in them."""

from dataclasses import dataclass

from bufferhouse.whatif.packing import Packing
from bufferhouse.whatif.plan import Plan
from bufferhouse.whatif.slots import Slots
from bufferhouse.whatif.space import ARENA


@dataclass(frozen=True, slots=True)
class Placement:
    """Allocations as (index, kind, bytes), and slots in columns of equal length.

    `value` is the row of a slot's value in its space; a value may have several slots, and a removed value has none.
    Offsets count from the start of the allocation; `start` and `end` are positions, both included.
    """

    allocations: list[tuple[int, str, int]]
    value: list[int]
    allocation: list[int]
    offset_bytes: list[int]
    size_bytes: list[int]
    start: list[int]
    end: list[int]


def placed(plan: Plan, slots: Slots, packing: Packing) -> Placement:
    """Return where the slots of a plan stand with this packing of the arena; several arenas become one.

    Raises:
        AssertionError: a slot stands outside its allocation.
    """
    space = plan.space
    arena = next((index for index, (kind, _) in space.allocations.items() if kind == ARENA), None)
    if arena is None:
        arena = max(space.allocations, default=-1) + 1
    first: dict[int, int] = {}  # the lowest byte of each body
    for at, body in enumerate(slots.body):
        first[body] = min(first.get(body, slots.offset_bytes[at]), slots.offset_bytes[at])
    allocations, offsets = [], []
    for at, body in enumerate(slots.body):
        is_moved = slots.is_arena[at]
        allocations.append(arena if is_moved else plan.holder(slots.value[at]))
        offsets.append(slots.offset_bytes[at] + (packing.offsets[body] - first[body] if is_moved else 0))
    sizes = {index: size for index, size in plan.fixed.items() if size}
    sizes |= {arena: packing.high_bytes} if packing.high_bytes else {}
    kinds = {index: kind for index, (kind, _) in space.allocations.items()} | {arena: ARENA}
    for allocation, offset, size in zip(allocations, offsets, slots.size_bytes, strict=True):
        assert 0 <= offset <= offset + size <= sizes[allocation], "a slot stands outside its allocation"
    return Placement(
        [(index, kinds[index], sizes[index]) for index in sorted(sizes)],
        *([*column] for column in (slots.value, allocations, offsets, slots.size_bytes, slots.start, slots.end)),
    )
