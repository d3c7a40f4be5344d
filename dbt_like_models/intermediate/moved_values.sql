-- Values that an instruction copies from another memory space, whole or in part: it reads a value in another space than
-- that of the value it defines, and only moves bytes. A slice brings a part, dynamic-update-slice writes one.
-- grain: dump_id, value_id, source_value_id
SELECT DISTINCT
    v.dump_id,  -- The dump.
    v.value_id,  -- The copy.
    v.instruction_id,  -- Instruction that defines it.
    t.opcode,  -- Operation that moves the bytes: copy, copy-start, slice, dynamic-slice or dynamic-update-slice.
    u.value_id AS source_value_id  -- The value that is copied.
FROM staging.value_slots AS v
INNER JOIN staging.instruction_results AS t
    ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
INNER JOIN staging.uses AS u ON v.dump_id = u.dump_id AND v.instruction_id = u.instruction_id
INNER JOIN staging.value_slots AS s ON u.dump_id = s.dump_id AND u.value_id = s.value_id
WHERE
    t.opcode IN ('copy', 'copy-start', 'slice', 'dynamic-slice', 'dynamic-update-slice')
    AND u.operand_number = CASE WHEN t.opcode = 'dynamic-update-slice' THEN 1 ELSE 0 END
    AND v.memory_space <> s.memory_space
    AND NOT v.is_tuple
    AND NOT s.is_tuple
    -- The context of a copy-start is a sync flag and not a copy.
    AND COALESCE(v.shape_index, '{0}') = '{0}'
