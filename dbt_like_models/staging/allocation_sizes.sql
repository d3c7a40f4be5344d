-- Allocations in numbers alone, with what each is for. Their shapes are in staging.allocations.
-- grain: dump_id, allocation_index
SELECT
    dump_id,  -- The dump.
    allocation_index,  -- Index of the allocation in its dump.
    -- A donated parameter that is also an output counts once, as a parameter.
    CASE
        WHEN is_thread_local THEN 'thread-local'
        WHEN parameter_number IS NOT NULL THEN 'parameter'
        WHEN is_maybe_live_out THEN 'output'
        WHEN is_constant THEN 'constant'
        ELSE 'temp'
    END AS kind,  -- parameter, output, constant, temp or thread-local.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_bytes,  -- Bytes reserved.
    page,  -- Page of the heap, null where none is printed.
    is_constant,  -- Holds a constant.
    is_thread_local,  -- Belongs to each thread of a called computation.
    is_maybe_live_out,  -- May hold an output.
    parameter_number,  -- Entry parameter it holds.
    parameter_shape_index,  -- Which leaf of the parameter.
    parameter_shape_id,  -- Shape printed for the parameter.
    output_shape_id,  -- Shape of the program's output, on the allocation of its root.
    has_strict_overlap  -- Occupied bytes have to be swept per address segment.
FROM raw.allocations
