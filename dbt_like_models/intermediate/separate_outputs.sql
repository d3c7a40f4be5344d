-- Outputs that have an allocation of their own, and when its first value is defined; without tuple tables, and without
-- allocations with a value whose live range is unknown.
-- grain: dump_id, allocation_index
SELECT
    dump_id,  -- The dump.
    output_allocation_index AS allocation_index,  -- Allocation of the output.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_bytes,  -- Bytes reserved.
    output_name AS instruction_name,  -- Defines the value that lives longest.
    output_shape AS shape_text,  -- Shape of that value.
    birth_position  -- First position at which a value in it is alive.
FROM intermediate.donatable_outputs
WHERE birth_position IS NOT NULL
