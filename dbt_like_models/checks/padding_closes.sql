-- The parts of the occupied peak sum to it: owned bytes of all kinds, each byte once.
-- severity: error
WITH parts AS (
    SELECT dump_id, memory_space, SUM(occupied_bytes) AS occupied_bytes FROM intermediate.padding_at_peak
    GROUP BY dump_id, memory_space
)

SELECT
    p.dump_id,  -- The offending dump.
    CAST(p.occupied_peak_bytes AS VARCHAR) || ' bytes in memory space '
    || CAST(p.memory_space AS VARCHAR) AS expected,  -- The occupied peak.
    CAST(COALESCE(w.occupied_bytes, 0) AS VARCHAR) || ' bytes' AS found  -- The sum of its parts.
FROM intermediate.peaks AS p
LEFT JOIN parts AS w ON p.dump_id = w.dump_id AND p.memory_space = w.memory_space
WHERE p.occupied_peak_bytes <> COALESCE(w.occupied_bytes, 0)
