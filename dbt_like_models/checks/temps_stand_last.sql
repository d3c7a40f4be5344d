-- Temporary allocations are merged and stand behind all others (BufferAssignment::CombineTempAllocations); empty ones
-- may stand anywhere.
-- severity: warn
WITH others AS (
    SELECT dump_id, MAX(allocation_index) AS last_index FROM staging.allocation_sizes
    WHERE kind <> 'temp'
    GROUP BY dump_id
)

SELECT
    a.dump_id,  -- The dump.
    'temporary allocations behind ' || CAST(o.last_index AS VARCHAR) AS expected,  -- The last of the others.
    'allocation ' || CAST(a.allocation_index AS VARCHAR) AS found  -- The temporary one before it.
FROM staging.allocation_sizes AS a
INNER JOIN others AS o ON a.dump_id = o.dump_id
WHERE a.kind = 'temp' AND a.size_bytes > 0 AND a.allocation_index < o.last_index
