-- Where the values of each heap trace of a dump lie. XProf takes the allocation of its first event for that of a trace, and refuses
-- a trace whose values lie in several (HloProtoBufferWrapper::Init, FinalizeMemoryUsage, xprof).
-- grain: dump_id, heap_events_id, trace_number
WITH seen AS (
    SELECT DISTINCT dump_id, heap_events_id
    FROM staging.observations
    WHERE heap_events_id IS NOT NULL
),

placed AS (
    SELECT
        s.dump_id,
        s.heap_events_id,
        e.trace_number,
        e.ordinal,
        v.allocation_index,
        CASE WHEN e.kind = 'free' THEN -e.size_bytes ELSE e.size_bytes END AS change_bytes
    FROM seen AS s
    INNER JOIN staging.heap_events AS e ON s.heap_events_id = e.heap_events_id
    INNER JOIN staging.hlo_values AS v ON s.dump_id = v.dump_id AND e.value_id = v.value_id
),

summed AS (
    SELECT
        *,
        SUM(change_bytes) OVER (PARTITION BY dump_id, heap_events_id, trace_number ORDER BY ordinal) AS alive_bytes,
        ROW_NUMBER() OVER (PARTITION BY dump_id, heap_events_id, trace_number ORDER BY ordinal) AS place
    FROM placed
)

SELECT
    dump_id,  -- The dump.
    heap_events_id,  -- The traces of its proto.
    trace_number,  -- The trace, from 0.
    MAX(CASE WHEN place = 1 THEN allocation_index END) AS first_allocation_index,  -- Allocation of its first value.
    CAST(COUNT(DISTINCT allocation_index) AS BIGINT) AS allocation_count,  -- Allocations that its values lie in.
    CAST(MAX(alive_bytes) AS BIGINT) AS replayed_bytes  -- Most bytes alive at once in a replay of it alone.
FROM summed
GROUP BY dump_id, heap_events_id, trace_number
