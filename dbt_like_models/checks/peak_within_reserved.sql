-- Occupied bytes never exceed reserved bytes, if all slots lie inside their allocations.
-- severity: warn
WITH reserved AS (
    -- Summed again and not read from the stored totals, because the check is to prove these.
    SELECT
        dump_id,
        memory_space,
        CAST(SUM(CASE WHEN kind <> 'thread-local' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS reserved_bytes
    FROM intermediate.reserved
    GROUP BY dump_id, memory_space
)

SELECT
    r.dump_id,  -- The dump.
    'at most ' || CAST(r.reserved_bytes AS VARCHAR) || ' bytes' AS expected,  -- Reserved bytes of a memory space.
    CAST(p.occupied_peak_bytes AS VARCHAR) || ' bytes occupied' AS found  -- Its occupied peak.
FROM reserved AS r
INNER JOIN intermediate.peaks AS p ON r.dump_id = p.dump_id AND r.memory_space = p.memory_space
WHERE p.occupied_peak_bytes > r.reserved_bytes
