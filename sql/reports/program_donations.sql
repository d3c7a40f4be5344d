-- Arguments of a program whose donation was lost: offered and not taken, or not usable as JAX says in a log of the run.
-- grain: relative_path, parameter_number, parameter_shape_index
-- parameters: run_id, dump_ids
SELECT
    relative_path,  -- Path of the file below the run's root.
    parameter_number,  -- Entry parameter.
    parameter_shape_index,  -- Which leaf of it.
    parameter_shape,  -- Its shape.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_bytes,  -- Bytes of its allocation.
    is_requested,  -- Whether the module text offers it.
    is_unusable,  -- JAX says that its donation is not usable; null where it may be another one of its shape.
    reason,  -- Why it was lost.
    warning_text  -- What JAX says of parameters of its shape, and where.
FROM marts.donations_v2
WHERE run_id = $run_id AND dump_id IN ($dump_ids) AND ((is_requested AND NOT is_taken) OR warning_text IS NOT NULL)
ORDER BY size_bytes DESC, relative_path ASC, parameter_number ASC, parameter_shape_index ASC
