"""raw.heap_events: one event of the compiler's heap simulator."""

from schemas.contract import MEMORY_SPACE, TEXT, VALUE_ID, Column, Contract, natural

HEAP_EVENTS = Contract(
    "heap_events",
    "Events of the heap simulator, from the proto of a dump (HeapSimulatorTrace, xla/service/hlo.proto), replayed as by"
    " ComputePeakMemory; equal ones once.",
    grain="one event of the traces of a proto",
    key=["heap_events_id", "ordinal"],
    columns={
        "heap_events_id": natural("The traces of a proto: first 63 bits of the SHA-256 of all that is stored of them."),
        "ordinal": natural("Place of the event in all traces, from 0."),
        "trace_number": natural("Its trace, from 0."),
        "traced_allocation_index": natural("Allocation that the trace names; libtpu names the wrong one at times."),
        "kind": Column(TEXT, "What happens to the value.", one_of=["alloc", "free", "share"]),
        "value_id": VALUE_ID,
        "shared_value_id": natural("The value whose bytes it shares; null for what shares none.", nullable=True),
        "size_bytes": natural("Bytes that come or go: 0 where others keep them alive."),
        "memory_space": MEMORY_SPACE,
        "alive_bytes": natural("Bytes alive behind the event, in all traces and memory spaces."),
        "computation_name": Column(TEXT, "Computation that the simulator was at."),
        "instruction_name": Column(TEXT, "Instruction in it."),
    },
)
