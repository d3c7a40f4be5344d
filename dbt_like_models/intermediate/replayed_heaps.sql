-- The highest point of a replay of all heap traces of a proto, memory spaces mixed (`ComputePeakMemory`).
-- grain: heap_events_id
SELECT
    heap_events_id,  -- The traces.
    MAX(alive_bytes) AS replayed_bytes  -- Most bytes alive at once.
FROM staging.heap_events
GROUP BY heap_events_id
