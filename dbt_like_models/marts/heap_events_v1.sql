-- Events of the compiler's heap simulator, from protos beside dumps, replayed: what was alive at each moment. Equal traces
-- are stored once; `observation_protos` names those of a dump.
-- grain: heap_events_id, ordinal
-- portable: yes
SELECT
    heap_events_id,  -- The traces of a proto.
    ordinal,  -- Place of the event in all traces, from 0.
    trace_number,  -- Its trace, from 0.
    traced_allocation_index,  -- Allocation that the trace names; libtpu names the wrong one at times.
    kind,  -- alloc, free or share: what happens to the value.
    value_id,  -- The value.
    shared_value_id,  -- The value whose bytes it shares; null for what shares none.
    size_bytes,  -- Bytes that come or go: 0 where others keep them alive.
    memory_space,  -- Memory space of the value.
    alive_bytes,  -- Bytes alive behind the event, in all traces and memory spaces.
    computation_name,  -- Computation that the simulator was at.
    instruction_name  -- Instruction in it.
FROM staging.heap_events
