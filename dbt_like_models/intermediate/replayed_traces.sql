-- Each heap trace replayed alone: the most bytes alive of a memory space.
-- grain: heap_events_id, trace_number, memory_space
WITH moved AS (
    SELECT
        heap_events_id,
        trace_number,
        memory_space,
        SUM(CASE WHEN kind = 'free' THEN -size_bytes ELSE size_bytes END) OVER (
            PARTITION BY heap_events_id, trace_number, memory_space ORDER BY ordinal
        ) AS alive_bytes
    FROM staging.heap_events
)

SELECT
    heap_events_id,  -- The traces.
    trace_number,  -- The trace, from 0.
    memory_space,  -- The memory space.
    CAST(COUNT(*) AS BIGINT) AS event_count,  -- Its events.
    CAST(MAX(alive_bytes) AS BIGINT) AS replayed_bytes  -- Most bytes alive at once.
FROM moved
GROUP BY heap_events_id, trace_number, memory_space
