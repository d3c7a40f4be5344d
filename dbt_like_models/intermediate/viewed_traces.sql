-- Which heap trace XProf's memory viewer replays for a memory space (GetHeapSimulatorTraceId, xprof): that of the temporaries of the space;
-- of several allocations of temporaries with a trace it takes any. Without one, the trace with the most events of the space.
-- grain: dump_id, heap_events_id, memory_space
WITH traced AS (
    SELECT * FROM intermediate.traced_allocations
),

of_allocations AS (  -- The last trace that begins in an allocation is the allocation's.
    SELECT t.dump_id, t.heap_events_id, a.memory_space, a.allocation_index, MAX(t.trace_number) AS trace_number
    FROM traced AS t
    INNER JOIN staging.allocation_sizes AS a ON t.dump_id = a.dump_id AND t.first_allocation_index = a.allocation_index
    WHERE a.kind = 'temp'
    GROUP BY t.dump_id, t.heap_events_id, a.memory_space, a.allocation_index
),

by_allocation AS (
    SELECT dump_id, heap_events_id, memory_space, MIN(trace_number) AS trace_number, COUNT(*) AS choice_count
    FROM of_allocations
    GROUP BY dump_id, heap_events_id, memory_space
),

counted AS (
    SELECT
        heap_events_id,
        memory_space,
        trace_number,
        ROW_NUMBER() OVER (PARTITION BY heap_events_id, memory_space ORDER BY COUNT(*) DESC, trace_number) AS choice
    FROM staging.heap_events
    GROUP BY heap_events_id, memory_space, trace_number
),

seen AS (
    SELECT DISTINCT dump_id, heap_events_id FROM traced
),

chosen AS (
    SELECT dump_id, heap_events_id, memory_space, trace_number, choice_count FROM by_allocation
    UNION ALL
    SELECT s.dump_id, s.heap_events_id, c.memory_space, c.trace_number, 1 AS choice_count
    FROM seen AS s
    INNER JOIN counted AS c ON s.heap_events_id = c.heap_events_id AND c.choice = 1
    LEFT JOIN by_allocation AS b
        ON s.dump_id = b.dump_id AND s.heap_events_id = b.heap_events_id AND c.memory_space = b.memory_space
    WHERE b.dump_id IS NULL
)

SELECT
    c.dump_id,  -- The dump.
    c.heap_events_id,  -- The traces of its proto.
    c.memory_space,  -- The memory space that is looked at.
    c.trace_number,  -- The trace that is replayed; of several that may be the first.
    CAST(c.choice_count AS BIGINT) AS choice_count,  -- Traces that may be replayed.
    t.allocation_count,  -- Allocations that its values lie in; of a trace with more than one XProf shows nothing.
    t.replayed_bytes  -- Most bytes alive at once in a replay of it alone.
FROM chosen AS c
INNER JOIN traced AS t
    ON c.dump_id = t.dump_id AND c.heap_events_id = t.heap_events_id AND c.trace_number = t.trace_number
