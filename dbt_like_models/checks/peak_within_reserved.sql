-- What is occupied never exceeds what is reserved, where slots lie inside their allocations.
-- severity: warn
SELECT
    t.dump_id,  -- The dump.
    'at most ' || CAST(t.reserved_bytes AS VARCHAR) || ' bytes' AS expected,  -- Reserved bytes of a memory space.
    CAST(t.occupied_peak_bytes AS VARCHAR) || ' bytes occupied' AS found  -- Its occupied peak.
FROM intermediate.space_totals AS t
WHERE t.occupied_peak_bytes > t.reserved_bytes
