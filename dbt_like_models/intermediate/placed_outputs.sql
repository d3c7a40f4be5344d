-- Outputs by shape: those with memory of their own, and those that are placed on a parameter.
-- grain: dump_id, allocation_index
SELECT
    dump_id,  -- The dump.
    output_allocation_index AS allocation_index,  -- Allocation that holds the output.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_bytes,  -- Bytes of the allocation.
    array_shape,  -- Element type and dimensions, without layout.
    FALSE AS is_on_parameter  -- Whether the allocation is that of a parameter.
FROM intermediate.donatable_outputs
UNION ALL
SELECT
    a.dump_id,
    a.allocation_index,
    a.memory_space,
    a.size_bytes,
    split_part(MIN_BY(v.shape_text, v.value_id), '{', 1) AS array_shape,
    TRUE AS is_on_parameter
FROM staging.allocation_sizes AS a
INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
WHERE a.kind = 'parameter' AND a.is_maybe_live_out AND NOT v.is_tuple
GROUP BY a.dump_id, a.allocation_index, a.memory_space, a.size_bytes
