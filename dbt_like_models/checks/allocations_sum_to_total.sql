-- `Total bytes used` is the sum of all allocation sizes, over every memory space (BufferAssignment::ToString).
-- severity: error
WITH summed AS (
    SELECT dump_id, SUM(size_bytes) AS size_bytes FROM staging.allocation_sizes
    GROUP BY dump_id
)

SELECT
    d.dump_id,  -- The offending dump.
    CAST(d.total_bytes AS VARCHAR) AS expected,  -- The printed total.
    CAST(COALESCE(s.size_bytes, 0) AS VARCHAR) AS found  -- The sum of the allocations.
FROM staging.contents AS d
LEFT JOIN summed AS s ON d.dump_id = s.dump_id
WHERE d.total_bytes IS NOT NULL AND d.total_bytes <> COALESCE(s.size_bytes, 0)
