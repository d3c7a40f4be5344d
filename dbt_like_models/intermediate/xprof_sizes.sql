-- What XProf's memory viewer adds up of each memory space of a dump: allocations whose life it takes for the whole program
-- (BufferAllocationStruct::IsIndefinite, xprof), and those that it counts by their flags.
-- grain: dump_id, memory_space
WITH held AS (
    SELECT DISTINCT dump_id, allocation_index
    FROM staging.hlo_values
    WHERE size_bytes > 0
)

SELECT
    a.dump_id,  -- The dump.
    a.memory_space,  -- Memory space of the allocations.
    CAST(SUM(a.size_bytes) AS BIGINT) AS allocated_bytes,  -- All of them.
    CAST(SUM(CASE WHEN a.kind = 'temp' THEN 1 ELSE 0 END) AS BIGINT) AS temp_count,  -- Allocations of temporaries.
    -- An allocation without a value of any size has no buffer that is shown.
    CAST(SUM(CASE WHEN a.kind <> 'temp' AND h.dump_id IS NOT NULL THEN a.size_bytes ELSE 0 END) AS BIGINT)
        AS indefinite_bytes,  -- Parameters, constants, outputs and thread-local ones.
    CAST(SUM(CASE WHEN a.parameter_number IS NOT NULL THEN a.size_bytes ELSE 0 END) AS BIGINT)
        AS parameter_bytes,  -- Entry parameters.
    CAST(SUM(CASE WHEN a.is_maybe_live_out THEN a.size_bytes ELSE 0 END) AS BIGINT)
        AS output_bytes  -- What may be live out, donated parameters included.
FROM staging.allocation_sizes AS a
LEFT JOIN held AS h ON a.dump_id = h.dump_id AND a.allocation_index = h.allocation_index
GROUP BY a.dump_id, a.memory_space
