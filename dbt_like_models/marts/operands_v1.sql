-- The module's graph: which instruction reads which, in the entry computation and in the computations it calls, as far as
-- a dump tells it: inside of fusions, where no value has memory of its own, it does not.
-- grain: dump_id, instruction_name, operand_number
-- portable: yes
SELECT
    o.dump_id,  -- The dump.
    u.instruction_name,  -- The user.
    u.schedule_position,  -- Its line in the schedule; null outside it.
    t.opcode,  -- Its operation; null where its text is not printed, because it defines no value.
    o.operand_number,  -- Which of its operands, from 0.
    i.instruction_name AS operand_name,  -- The operand; null where several instructions that hold the same bytes may be it.
    i.schedule_position AS operand_schedule_position,  -- Its line in the schedule.
    s.opcode AS operand_opcode  -- Its operation.
FROM intermediate.operands AS o
INNER JOIN staging.instructions AS u ON o.dump_id = u.dump_id AND o.instruction_id = u.instruction_id
LEFT JOIN staging.instructions AS i ON o.dump_id = i.dump_id AND o.operand_instruction_id = i.instruction_id
LEFT JOIN staging.instruction_texts AS t ON o.dump_id = t.dump_id AND o.instruction_id = t.instruction_id
LEFT JOIN staging.instruction_texts AS s ON o.dump_id = s.dump_id AND o.operand_instruction_id = s.instruction_id
