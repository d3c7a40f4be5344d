-- Instruction texts and what can be read in them, with instruction names and places in the schedule.
-- Where a dump prints no source file, it is that of the stack frame in the module text which lay beside the dump.
-- grain: dump_id, instruction_text_id
SELECT
    t.dump_id,  -- The dump.
    t.instruction_text_id,  -- Number of the text in its dump.
    t.instruction_id,  -- The instruction.
    i.instruction_name,  -- Its name.
    i.schedule_position,  -- Its line in the schedule; null outside it.
    t.opcode,  -- Operation, such as fusion or copy-start.
    t.op_name,  -- Name of the framework operation.
    COALESCE(t.source_file, f.source_file) AS source_file,  -- Source file of the user's program; null where neither dump nor module text says it.
    CASE WHEN t.source_file IS NULL THEN f.source_line ELSE t.source_line END AS source_line,  -- Line in it.
    f.function_name,  -- Function it is in; null without a module text.
    t.stack_frame_id,  -- Stack frame that replaces file and line since jaxlib 0.8.2.
    t.custom_call_target,  -- Target of a custom call.
    s.shape_text AS result_shape,  -- Shape of its result: of a tuple the whole tuple.
    s.logical_bytes AS result_bytes,  -- Logical bytes of that shape; 8 per element of a tuple.
    t.operand_instruction_ids,  -- Its operands, in order.
    t.instruction_text  -- The text as printed.
FROM raw.instruction_texts AS t
LEFT JOIN raw.shapes AS s ON t.result_shape_id = s.shape_id
INNER JOIN raw.instructions AS i ON t.dump_id = i.dump_id AND t.instruction_id = i.instruction_id
LEFT JOIN staging.dump_stack_frames AS d ON t.dump_id = d.dump_id
LEFT JOIN raw.stack_frames AS f ON d.stack_frames_id = f.stack_frames_id AND t.stack_frame_id = f.stack_frame_id
