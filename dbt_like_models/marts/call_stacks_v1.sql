-- The whole call stack of each instruction text, innermost first when sorted by depth.
-- Only of dumps beside which a module text with stack frames was seen; depth 0 is the line that other marts show.
-- grain: dump_id, instruction_text_id, depth
-- portable: yes
SELECT
    t.dump_id,  -- The dump.
    t.instruction_text_id,  -- Number of the text in its dump.
    s.depth,  -- 0 for the place of the operation itself, 1 for its caller, and so on outwards.
    t.instruction_name,  -- The instruction.
    t.opcode,  -- Its operation, such as fusion or copy-start.
    t.op_name,  -- Name of the framework operation.
    s.function_name,  -- Function of the user's program at this depth.
    s.source_file,  -- Source file it is in.
    s.source_line,  -- Line in it.
    s.source_column,  -- Column in it.
    s.caller_frame_id AS stack_frame_id  -- The stack frame at this depth.
FROM staging.instruction_texts AS t
INNER JOIN staging.dump_stack_frames AS d ON t.dump_id = d.dump_id
INNER JOIN intermediate.call_stack_frames AS s
    ON d.stack_frames_id = s.stack_frames_id AND t.stack_frame_id = s.stack_frame_id
