-- Reserved bytes of each memory space by kind of allocation.
-- grain: dump_id, memory_space, kind
SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    kind,  -- parameter, output, constant, temp or thread-local.
    CAST(COUNT(*) AS BIGINT) AS allocation_count,  -- Allocations.
    CAST(SUM(size_bytes) AS BIGINT) AS reserved_bytes  -- Their sizes.
FROM staging.allocation_sizes
GROUP BY dump_id, memory_space, kind
