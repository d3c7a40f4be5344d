-- Entry parameters on which no output is placed, and when each is read for the last time; without parameters that hold a
-- tuple table, and without those whose uses are unknown or outside the schedule.
-- grain: dump_id, allocation_index
SELECT
    dump_id,  -- The dump.
    parameter_allocation_index AS allocation_index,  -- Allocation of the parameter.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_bytes,  -- Bytes reserved.
    parameter_number,  -- Entry parameter it holds.
    parameter_shape_index,  -- Which leaf of the parameter.
    parameter_name AS instruction_name,  -- Instruction of its first value: the parameter.
    parameter_shape AS shape_text,  -- Shape of that value.
    last_use_position  -- Last position at which a value in it is used; null if none is.
FROM intermediate.donatable_parameters
WHERE are_uses_known
