-- Outputs that could take the place of a parameter: allocations that hold one, each with the value that lives longest.
-- grain: dump_id, output_allocation_index
WITH output_values AS (
    SELECT
        a.dump_id,
        a.allocation_index,
        a.memory_space,
        a.size_bytes,
        v.instruction_name,
        v.shape_text,
        v.is_tuple,
        MIN(v.start_position) OVER allocation AS birth_position,
        COUNT(*) OVER allocation = COUNT(v.start_position) OVER allocation AS is_birth_known,
        ROW_NUMBER() OVER (
            PARTITION BY a.dump_id, a.allocation_index
            ORDER BY v.is_tuple ASC, v.end_position DESC NULLS LAST, v.is_phi ASC, v.value_id DESC
        ) AS place
    FROM staging.allocations AS a
    INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
    WHERE a.kind = 'output' AND a.size_bytes > 0
    WINDOW allocation AS (PARTITION BY a.dump_id, a.allocation_index)
)

SELECT
    dump_id,  -- The dump.
    allocation_index AS output_allocation_index,  -- Allocation of the output.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_bytes,  -- Bytes of the allocation.
    instruction_name AS output_name,  -- Instruction that defines the value.
    shape_text AS output_shape,  -- Its shape.
    split_part(shape_text, '{', 1) AS array_shape,  -- Element type and dimensions, without layout.
    CASE WHEN is_birth_known THEN birth_position END
        AS birth_position  -- First position at which a value in it is alive; null if that of one is not known.
FROM output_values
WHERE place = 1 AND NOT is_tuple
