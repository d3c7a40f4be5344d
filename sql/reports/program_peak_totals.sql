-- How many values own a byte of the occupied peak of each memory space of some dumps, and what they own together.
-- grain: dump_id, memory_space
-- parameters: dump_ids
SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    COUNT(*) AS value_count,  -- Values alive at the peak.
    CAST(SUM(owned_bytes) AS BIGINT) AS owned_bytes  -- What they own: the occupied peak.
FROM marts.peak_buffers_v1
WHERE dump_id IN ($dump_ids)
GROUP BY dump_id, memory_space
ORDER BY dump_id, memory_space
