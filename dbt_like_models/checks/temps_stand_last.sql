-- Temporary allocations are merged and stand behind all others (BufferAssignment::CombineTempAllocations); empty ones
-- may stand anywhere. The check is for each memory space by itself: if memory is short, libtpu 0.0.52 puts the temporary
-- allocations of all memory spaces except the default one first.
-- severity: warn
WITH others AS (
    SELECT dump_id, memory_space, MAX(allocation_index) AS last_index FROM staging.allocation_sizes
    WHERE kind <> 'temp'
    GROUP BY dump_id, memory_space
)

SELECT
    a.dump_id,  -- The dump.
    'temporary allocations behind ' || CAST(o.last_index AS VARCHAR) AS expected,  -- The last of the others.
    'allocation ' || CAST(a.allocation_index AS VARCHAR) AS found  -- The temporary one before it.
FROM staging.allocation_sizes AS a
INNER JOIN others AS o ON a.dump_id = o.dump_id AND a.memory_space = o.memory_space
WHERE a.kind = 'temp' AND a.size_bytes > 0 AND a.allocation_index < o.last_index
