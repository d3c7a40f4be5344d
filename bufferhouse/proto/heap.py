"""The events of the compiler's heap simulator (`HeapSimulatorTrace`), replayed.

The replay is that of `ComputePeakMemory` (xla/service/buffer_assignment.cc): all traces one behind the other, memory
spaces mixed, each buffer with its own size. A buffer that shares the bytes of another keeps them alive and adds none.
"""

from bufferhouse.proto.assignment import Assignment
from bufferhouse.proto.errors import ProtoError

HeapEvent = tuple[int, int, int, str, int, int | None, int, int, int, str, str]
_ALLOC, _FREE, _SHARE = 0, 1, 2
_KINDS = ("alloc", "free", "share")


def heap_events(assignment: Assignment) -> list[HeapEvent]:
    """Return the events of all traces in their order, with the columns of raw.heap_events.

    These are the place among all events, the number of the trace and the allocation that it names, what happens to
    which value, the value whose bytes are shared, the bytes that come or go, the memory space, the bytes alive then,
    and the names of computation and instruction.

    Raises:
        ProtoError: an event is about no buffer, frees what is not alive, or is of no known kind.
    """
    buffers = assignment.buffers
    events: list[HeapEvent] = []
    owners: dict[int, int] = {}
    holders: dict[int, int] = {}
    names = _Names()
    alive = 0
    for number, trace in enumerate(assignment.message.heap_simulator_traces):
        place = trace.buffer_allocation_index
        if place < 0:
            raise ProtoError("the allocation of a trace", str(place))
        for event in trace.events:
            value, kind = event.buffer_id, event.kind
            shared = event.share_with_canonical_id if kind == _SHARE else None
            if value not in buffers or (shared is not None and shared not in buffers):
                raise ProtoError("a heap event of a logical buffer", f"one of {value if shared is None else shared}")
            size, space, _ = buffers[value]
            if kind == _FREE:
                if value not in owners:
                    raise ProtoError("a heap event that frees what is alive", f"one that frees {value}")
                owner = owners.pop(value)
                holders[owner] -= 1
                size = 0 if holders[owner] else buffers[owner][0]
                alive -= size
            elif kind in (_ALLOC, _SHARE):
                owner = owners[value] = value if shared is None else shared
                size = 0 if holders.get(owner) else buffers[owner][0]
                holders[owner] = holders.get(owner, 0) + 1
                alive += size
            else:
                raise ProtoError("a heap event: alloc, free or share", f"kind {kind}")
            events.append(
                (
                    *(len(events), number, place, _KINDS[kind], value, shared, size, space, alive),
                    *(names[event.computation_name], names[event.instruction_name]),
                )
            )
    return events


class _Names(dict):
    """Texts by their bytes."""

    def __missing__(self, name: bytes) -> str:
        found = self[name] = name.decode("utf-8", "replace")
        return found
