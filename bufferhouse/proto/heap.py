"""The events of the compiler's heap simulator (`HeapSimulatorTrace`), replayed.

The replay is that of `ComputePeakMemory` (xla/service/buffer_assignment.cc): all traces one behind the other, memory
spaces mixed, each buffer with its own size. A buffer that shares the bytes of another keeps them alive and adds none.
References are counted below zero, too: what is fetched for several branches of a conditional is freed once in each, and
allocated once more for each freed time before its bytes come again.
"""

from array import array
from collections.abc import Mapping
from itertools import repeat

from bufferhouse.proto.assignment import Assignment
from bufferhouse.proto.errors import ProtoError

_ALLOC, _FREE, _SHARE = 0, 1, 2
_KINDS = ("alloc", "free", "share")


def heap_events(assignment: Assignment) -> tuple[array | list, ...]:
    """Return the events of all traces in their order, as the columns of raw.heap_events; no columns without any.

    These are the place among all events, the number of the trace and the allocation that it names, what happens to
    which value, the value whose bytes are shared, the bytes that come or go, the memory space, the bytes alive then,
    and the names of computation and instruction.

    Raises:
        ProtoError: an event is about no buffer, frees what never came to be, or is of no known kind.
    """
    numbers: list[int] = []
    places: list[int] = []
    events: list = []
    for number, trace in enumerate(assignment.message.heap_simulator_traces):
        place = trace.buffer_allocation_index
        if place < 0:
            raise ProtoError("the allocation of a trace", str(place))
        events += trace.events
        numbers += repeat(number, len(events) - len(numbers))
        places += repeat(place, len(events) - len(places))
    if not events:
        return ()
    kinds = [event.kind for event in events]
    values = [event.buffer_id for event in events]
    if min(kinds) < _ALLOC or max(kinds) > _SHARE:
        odd = next(kind for kind in kinds if not _ALLOC <= kind <= _SHARE)
        raise ProtoError("a heap event: alloc, free or share", f"kind {odd}")
    owners = [
        event.share_with_canonical_id if kind == _SHARE else None for event, kind in zip(events, kinds, strict=True)
    ]
    computations = [event.computation_name for event in events]
    instructions = [event.instruction_name for event in events]
    texts = {name: name.decode("utf-8", "replace") for name in {*computations, *instructions}}
    return (
        array("q", range(len(events))), array("q", numbers), array("q", places), [_KINDS[kind] for kind in kinds],
        array("q", values), owners, *_replayed(assignment.buffers, kinds, values, owners),
        [texts[name] for name in computations], [texts[name] for name in instructions],
    )  # fmt: skip


def _replayed(
    buffers: Mapping[int, tuple[int, int, bytes]], kinds: list[int], values: list[int], shared: list[int | None]
) -> tuple[array, array, array]:
    """Return the bytes that come or go with each event, the memory space, and the bytes alive then."""
    odd = {*values, *shared} - buffers.keys() - {None}
    if odd:
        raise ProtoError("a heap event of a logical buffer", f"one of {min(odd)}")
    owners: dict[int, int] = {}
    holders: dict[int, int] = {}
    sizes: list[int] = []
    totals: list[int] = []
    alive = 0
    for kind, value, canonical in zip(kinds, values, shared, strict=True):
        if kind == _FREE:
            if value not in owners:
                raise ProtoError("a heap event that frees what was alive", f"one that frees {value}")
            owner = owners[value]
            left = holders[owner] = holders[owner] - 1
            size = 0 if left else buffers[owner][0]
            alive -= size
        else:
            owner = owners[value] = value if canonical is None else canonical
            held = holders[owner] = holders.get(owner, 0) + 1
            size = buffers[owner][0] if held == 1 else 0
            alive += size
        sizes.append(size)
        totals.append(alive)
    return array("q", sizes), array("q", [buffers[value][1] for value in values]), array("q", totals)
