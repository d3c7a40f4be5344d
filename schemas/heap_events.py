"""raw.heap_events: one event of the compiler's heap simulator."""

from schemas.contract import INTEGER, MEMORY_SPACE, TEXT, VALUE_ID, Column, Contract

HEAP_EVENTS = Contract(
    "heap_events",
    "Events of the heap simulator, from the proto of a dump (HeapSimulatorTrace, xla/service/hlo.proto), replayed as by"
    " ComputePeakMemory; equal ones once.",
    grain="one event of the traces of a proto",
    key=["heap_events_id", "ordinal"],
    columns={
        "heap_events_id": Column(
            INTEGER, "The traces of a proto: first 63 bits of the SHA-256 of all that is stored of them.", minimum=0
        ),
        "ordinal": Column(INTEGER, "Place of the event in all traces, from 0.", minimum=0),
        "trace_number": Column(INTEGER, "Its trace, from 0.", minimum=0),
        "traced_allocation_index": Column(
            INTEGER, "Allocation that the trace names; libtpu names the wrong one at times.", minimum=0
        ),
        "kind": Column(TEXT, "What happens to the value.", one_of=["alloc", "free", "share"]),
        "value_id": VALUE_ID,
        "shared_value_id": Column(
            INTEGER, "The value whose bytes it shares; null for what shares none.", nullable=True, minimum=0
        ),
        "size_bytes": Column(INTEGER, "Bytes that come or go: 0 where others keep them alive.", minimum=0),
        "memory_space": MEMORY_SPACE,
        "alive_bytes": Column(INTEGER, "Bytes alive behind the event, in all traces and memory spaces.", minimum=0),
        "computation_name": Column(TEXT, "Computation that the simulator was at."),
        "instruction_name": Column(TEXT, "Instruction in it."),
    },
)
