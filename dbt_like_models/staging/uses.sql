-- Which instructions read values, with their names and positions in the schedule.
-- grain: dump_id, value_id, ordinal
SELECT
    u.dump_id,  -- The dump.
    u.value_id,  -- The value.
    u.ordinal,  -- Line of the list.
    u.instruction_id,  -- Instruction that reads it.
    i.instruction_name,  -- Its name.
    i.schedule_position,  -- Its line in the schedule; null outside it.
    u.operand_number,  -- Operand of the user.
    u.operand_shape_index  -- Which part of the operand; null = not printed.
FROM raw.uses AS u
INNER JOIN raw.instructions AS i ON u.dump_id = i.dump_id AND u.instruction_id = i.instruction_id
