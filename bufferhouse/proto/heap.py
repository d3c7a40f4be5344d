"""The events of the compiler's heap simulator (`HeapSimulatorTrace`), replayed.

The replay is that of `ComputePeakMemory` (xla/service/buffer_assignment.cc): all traces one behind the other, memory
spaces mixed, each buffer with its own size. A buffer that shares the bytes of another keeps them alive and adds none.
"""

from typing import NamedTuple

from bufferhouse.proto.assignment import Assignment
from bufferhouse.proto.errors import ProtoError

KINDS = ("alloc", "free", "share")


class HeapEvent(NamedTuple):
    """One event: its place in all traces and the trace's number, what happens to which value, and the bytes alive then.

    `shared_value_id` is the value whose bytes are shared, `size_bytes` the size of the bytes that come or go with the
    event, `memory_space` that of the value; `alive_bytes` counts all traces up to this event.
    """

    ordinal: int
    trace_number: int
    traced_allocation_index: int
    kind: str
    value_id: int
    shared_value_id: int | None
    size_bytes: int
    memory_space: int
    alive_bytes: int
    computation_name: str
    instruction_name: str


def heap_events(assignment: Assignment) -> list[HeapEvent]:
    """Return the events of all traces in their order.

    Raises:
        ProtoError: an event is about no buffer, frees what is not alive, or is of no known kind.
    """
    buffers = assignment.buffers
    events: list[HeapEvent] = []
    owners: dict[int, int] = {}
    holders: dict[int, int] = {}
    names: dict[bytes, str] = {}
    alive = 0
    for number, trace in enumerate(assignment.message.heap_simulator_traces):
        place = trace.buffer_allocation_index
        if place < 0:
            raise ProtoError("the allocation of a trace", str(place))
        for event in trace.events:
            value, kind = event.buffer_id, event.kind
            shared = event.share_with_canonical_id if kind == 2 else None
            if value not in buffers or (shared is not None and shared not in buffers):
                raise ProtoError("a heap event of a logical buffer", f"one of {value if shared is None else shared}")
            if kind == 1:
                if value not in owners:
                    raise ProtoError("a heap event that frees what is alive", f"one that frees {value}")
                owner = owners.pop(value)
                holders[owner] -= 1
                size = 0 if holders[owner] else buffers[owner][0]
                alive -= size
            elif kind in (0, 2):
                owner = owners[value] = value if shared is None else shared
                size = 0 if holders.get(owner) else buffers[owner][0]
                holders[owner] = holders.get(owner, 0) + 1
                alive += size
            else:
                raise ProtoError("a heap event: alloc, free or share", f"kind {kind}")
            texts = _text(event.computation_name, names), _text(event.instruction_name, names)
            space = buffers[value][1]
            events.append(HeapEvent(len(events), number, place, KINDS[kind], value, shared, size, space, alive, *texts))
    return events


def _text(name: bytes, known: dict[bytes, str]) -> str:
    found = known.get(name)
    if found is None:
        found = known[name] = name.decode("utf-8", "replace")
    return found
