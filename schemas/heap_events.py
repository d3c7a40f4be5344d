"""raw.heap_events: one event of the compiler's heap simulator."""

from schemas.contract import INTEGER, MEMORY_SPACE, TEXT, VALUE_ID, column, table

HEAP_EVENTS = table(
    "heap_events",
    "Events of the heap simulator, from the proto of a dump (HeapSimulatorTrace, xla/service/hlo.proto), replayed as by"
    " ComputePeakMemory; equal ones once.",
    grain="one event of the traces of a proto",
    key=["heap_events_id", "ordinal"],
    columns={
        "heap_events_id": column(
            INTEGER, "The traces of a proto: first 63 bits of the SHA-256 of all that is stored of them.", minimum=0
        ),
        "ordinal": column(INTEGER, "Place of the event in all traces, from 0.", minimum=0),
        "trace_number": column(INTEGER, "Its trace, from 0.", minimum=0),
        "traced_allocation_index": column(
            INTEGER, "Allocation that the trace names; libtpu names the wrong one at times.", minimum=0
        ),
        "kind": column(TEXT, "What happens to the value.", one_of=["alloc", "free", "share"]),
        "value_id": VALUE_ID,
        "shared_value_id": column(
            INTEGER, "The value whose bytes it shares; null for what shares none.", nullable=True, minimum=0
        ),
        "size_bytes": column(INTEGER, "Bytes that come or go: 0 where others keep them alive.", minimum=0),
        "memory_space": MEMORY_SPACE,
        "alive_bytes": column(INTEGER, "Bytes alive behind the event, in all traces and memory spaces.", minimum=0),
        "computation_name": column(TEXT, "Computation that the simulator was at."),
        "instruction_name": column(TEXT, "Instruction in it."),
    },
)
