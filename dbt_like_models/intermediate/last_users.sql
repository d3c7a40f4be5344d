-- The last user of each value, and what hands the value to it.
-- grain: dump_id, value_id
SELECT
    u.dump_id,  -- The dump.
    u.value_id,  -- The value.
    u.moment_position,  -- Position of the last use within the live range.
    u.instruction_name,  -- The user.
    u.operand_number,  -- Which of its operands the value is.
    t.opcode,  -- Operation of the user; null where its text is not printed.
    t.op_name,  -- Name of its framework operation.
    t.source_file,  -- Source file of the user's program.
    t.source_line,  -- Line in it.
    i.instruction_name AS operand_name  -- The operand, by way of which it reads the value; null where the dump does not tell.
FROM intermediate.value_uses AS u
LEFT JOIN staging.instruction_texts AS t ON u.dump_id = t.dump_id AND u.instruction_id = t.instruction_id
LEFT JOIN intermediate.operands AS o
    ON u.dump_id = o.dump_id AND u.instruction_id = o.instruction_id AND u.operand_number = o.operand_number
LEFT JOIN staging.instructions AS i ON o.dump_id = i.dump_id AND o.operand_instruction_id = i.instruction_id
WHERE u.rank_from_end = 1
