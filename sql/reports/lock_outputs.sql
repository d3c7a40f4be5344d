-- The values that stay in outputs which are not placed on parameters, the largest first: the lines of a lost donation.
-- grain: dump_id, allocation_index
-- parameters: dump_ids (the dumps)
WITH ranked AS (
    SELECT
        *,
        -- Others may lie there before; what the program returns is alive to the end.
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, allocation_index
            ORDER BY end_position DESC, start_position DESC, value_id DESC
        ) AS value_rank
    FROM marts.allocation_map_v1
    WHERE dump_id IN ($dump_ids) AND kind = 'output' AND op_name IS NOT NULL
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_bytes,  -- The slot.
    op_name,  -- Name of the framework operation.
    COALESCE(source_file || COALESCE(':' || source_line, ''), '') AS source_place  -- Where it was written.
FROM ranked
WHERE value_rank = 1
ORDER BY dump_id ASC, memory_space ASC, (source_file IS NULL) ASC, size_bytes DESC, value_id ASC
