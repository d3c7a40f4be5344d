-- The parameters of some dumps, leaf by leaf, with whether an output is placed on each.
-- grain: dump_id, parameter_number, parameter_shape_index
-- parameters: dump_ids (the dumps)
SELECT
    dump_id,  -- The dump.
    parameter_number,  -- Entry parameter.
    parameter_shape_index,  -- Which leaf of it.
    MAX(parameter_shape) AS parameter_shape,  -- Its shape.
    MAX(memory_space) AS memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    MAX(size_bytes) AS size_bytes,  -- Bytes of its allocation.
    BOOL_OR(is_maybe_live_out) AS is_taken  -- Whether an output is placed on it.
FROM marts.allocations_v1
WHERE dump_id IN ($dump_ids) AND kind = 'parameter' AND size_bytes > 0
GROUP BY dump_id, parameter_number, parameter_shape_index
ORDER BY ALL
