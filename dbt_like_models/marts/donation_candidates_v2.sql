-- Parameters on which an output of the same shape could be placed: what donating the arguments (donate_argnums in JAX) can
-- save. Both allocations are of one size in one memory space, and neither holds both kinds yet.
-- The rows with is_in_this_schedule are a lower bound: in them the parameter is not read any more when the output is
-- born. The schedule of this dump was made without donation; with it the compiler moves the last read before the birth, or
-- copies, and the other rows can be placed, too. Only the program compiled with donation shows how many are.
-- A parameter stands beside one output and an output beside one parameter, so sizes may be added up.
-- grain: dump_id, parameter_allocation_index
-- portable: yes
SELECT
    t.dump_id,  -- The dump.
    p.memory_space,  -- Memory space of both; 0 is the default (HBM on TPU).
    p.size_bytes,  -- Bytes of each: what donating the argument saves.
    t.parameter_allocation_index,  -- Allocation of the parameter.
    p.parameter_number,  -- Entry parameter it holds.
    p.parameter_shape_index,  -- Which leaf of the parameter.
    p.parameter_name,  -- Instruction of the parameter.
    p.parameter_shape,  -- Its shape.
    p.last_use_position,  -- Last position at which it is used; null if it never is, or if that is not known.
    t.output_allocation_index,  -- Allocation of the output.
    o.output_name,  -- Instruction that defines the value of it that lives longest.
    o.output_shape,  -- Its shape: element type and dimensions are those of the parameter.
    o.birth_position,  -- First position at which it is alive; null if that is not known.
    COALESCE(p.last_use_position = o.birth_position, FALSE)
        AS is_meeting,  -- Whether one instruction reads the one and writes the other: it must work in place; false where a moment is not known.
    t.is_in_this_schedule  -- Whether the parameter is free when the output is born, in the schedule of this dump; false where that is not known, too.
FROM intermediate.donations AS t
INNER JOIN intermediate.donatable_parameters AS p
    ON t.dump_id = p.dump_id AND t.parameter_allocation_index = p.parameter_allocation_index
INNER JOIN intermediate.donatable_outputs AS o
    ON t.dump_id = o.dump_id AND t.output_allocation_index = o.output_allocation_index
