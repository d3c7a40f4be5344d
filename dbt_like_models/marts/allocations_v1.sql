-- The allocations of a program, with the purpose of each.
-- grain: dump_id, allocation_index
-- portable: yes
SELECT
    dump_id,  -- The dump.
    allocation_index,  -- Index of the allocation in its dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    kind,  -- parameter, output, constant, temp or thread-local; a donated parameter that is also an output is a parameter.
    size_bytes,  -- Bytes reserved.
    is_constant,  -- Holds a constant.
    is_thread_local,  -- Belongs to each thread of a called computation.
    is_maybe_live_out,  -- May hold an output.
    parameter_number,  -- Entry parameter it holds; null for other kinds.
    parameter_shape_index,  -- Which leaf of the parameter.
    parameter_shape,  -- Shape printed for the parameter.
    output_shape  -- Shape of the program's output, on the allocation of its root.
FROM staging.allocations
