-- Allocations, with what each is for and the shapes printed for them.
-- grain: dump_id, allocation_index
SELECT
    a.dump_id,  -- The dump.
    a.allocation_index,  -- Index of the allocation in its dump.
    a.kind,  -- parameter, output, constant, temp or thread-local.
    a.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    a.size_bytes,  -- Bytes reserved.
    a.page,  -- Page of the heap, null where none is printed.
    a.is_constant,  -- Holds a constant.
    a.is_thread_local,  -- Belongs to each thread of a called computation.
    a.is_maybe_live_out,  -- May hold an output.
    a.parameter_number,  -- Entry parameter it holds.
    a.parameter_shape_index,  -- Which leaf of the parameter.
    p.shape_text AS parameter_shape,  -- Shape printed for the parameter.
    o.shape_text AS output_shape,  -- Shape of the program's output, on the allocation of its root.
    a.has_strict_overlap  -- Occupied bytes have to be swept per address segment.
FROM staging.allocation_sizes AS a
LEFT JOIN raw.shapes AS p ON a.parameter_shape_id = p.shape_id
LEFT JOIN raw.shapes AS o ON a.output_shape_id = o.shape_id
