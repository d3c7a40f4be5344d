-- How long values live, when they are used, between which two uses they lie idle longest, and what keeps them alive: their
-- last user, or what lies beyond all uses. Values with a live range only. A use behind the live range counts at its end: a
-- loop takes its initial values when its body begins, and from there their bytes live on under another value.
-- grain: dump_id, value_id
-- portable: yes
SELECT
    s.dump_id,  -- The dump.
    s.value_id,  -- The value.
    s.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    s.allocation_index,  -- Allocation that holds it.
    s.kind,  -- parameter, output, constant or temp.
    v.instruction_name,  -- Instruction that defines it.
    v.shape_index,  -- Which part of the instruction's result; null = not printed.
    v.shape_text,  -- Shape as printed.
    s.size_bytes,  -- Its slot, in bytes.
    s.start_position,  -- Birth: first position alive.
    s.end_position,  -- Death: last position alive, included.
    s.end_position - s.start_position + 1 AS live_position_count,  -- Positions at which it is alive.
    CAST(s.size_bytes AS DOUBLE) * (s.end_position - s.start_position + 1)
        AS byte_steps,  -- Its slot times these positions: what freeing it earlier is worth.
    e.use_count,  -- Uses as printed.
    e.first_use_position,  -- First position at which it is used; null without uses in the schedule.
    l.moment_position AS last_use_position,  -- Last position at which it is used.
    s.end_position - l.moment_position AS idle_position_count,  -- Positions it is kept after its last use.
    e.kept_by,  -- What keeps it up to its end: use, its last user; handed on, a loop or another user that goes on with its bytes; argument, the caller of the program; result, the program's; computation, the loop, branch or call that it is a result or the state of; alias set, the values that share its slot; nothing.
    l.instruction_name AS last_user_name,  -- Instruction at the last use; null without uses in the schedule.
    l.opcode AS last_user_opcode,  -- Its operation; null where its text is not printed.
    l.op_name AS last_user_op_name,  -- Name of its framework operation.
    l.source_file AS last_user_source_file,  -- Source file of the user's program.
    l.source_line AS last_user_source_line,  -- Line in it.
    l.operand_number AS last_user_operand_number,  -- Which operand of the last user it is.
    NULLIF(l.operand_name, v.instruction_name) AS read_through_name,  -- Instruction that hands it to the last user, such as bitcast, tuple or get-tuple-element; null where it is the one that defines it, or the dump does not tell.
    g.from_position AS idle_from_position,  -- Where its longest gap begins: its definition or a use; the earliest of equal ones.
    g.from_instruction_name AS idle_from_instruction_name,  -- Instruction there.
    g.to_position AS idle_to_position,  -- The use that ends the gap.
    g.to_instruction_name AS idle_to_instruction_name,  -- Instruction there.
    g.idle_position_count AS longest_idle_position_count,  -- Positions between the two, at which it is alive and nobody uses it.
    e.successor_name  -- Instruction whose value begins in the same slot where this one ends: its bytes live on there.
FROM intermediate.slots AS s
INNER JOIN staging.hlo_values AS v ON s.dump_id = v.dump_id AND s.value_id = v.value_id
INNER JOIN intermediate.value_ends AS e ON s.dump_id = e.dump_id AND s.value_id = e.value_id
LEFT JOIN intermediate.last_users AS l ON s.dump_id = l.dump_id AND s.value_id = l.value_id
LEFT JOIN intermediate.longest_gaps AS g ON s.dump_id = g.dump_id AND s.value_id = g.value_id
