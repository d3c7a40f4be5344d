-- How many values own a byte of the occupied peak of each memory space, and what they own together.
-- grain: memory_space
-- parameters: dump_id
SELECT
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    COUNT(*) AS value_count,  -- Values alive at the peak.
    CAST(SUM(owned_bytes) AS BIGINT) AS owned_bytes  -- What they own: the occupied peak.
FROM marts.peak_buffers_v1
WHERE dump_id = $dump_id
GROUP BY memory_space
ORDER BY memory_space
