-- Parameters that an output could take the place of: allocations that hold one and no output, each with its first value.
-- grain: dump_id, parameter_allocation_index
SELECT
    a.dump_id,  -- The dump.
    a.allocation_index AS parameter_allocation_index,  -- Allocation of the parameter.
    MAX(a.memory_space) AS memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    MAX(a.size_bytes) AS size_bytes,  -- Bytes of the allocation.
    MAX(a.parameter_number) AS parameter_number,  -- Entry parameter it holds.
    MAX(a.parameter_shape_index) AS parameter_shape_index,  -- Which leaf of the parameter.
    MIN_BY(v.instruction_name, v.value_id) AS parameter_name,  -- Instruction of the parameter.
    MIN_BY(v.shape_text, v.value_id) AS parameter_shape,  -- Its shape.
    split_part(MIN_BY(v.shape_text, v.value_id), '{', 1) AS array_shape  -- Element type and dimensions, without layout.
FROM staging.allocations AS a
INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
WHERE a.kind = 'parameter' AND NOT a.is_maybe_live_out AND a.size_bytes > 0
GROUP BY a.dump_id, a.allocation_index
HAVING NOT BOOL_OR(v.is_tuple)
