-- Stack frames of module texts: where each is, and which frame called it.
-- grain: stack_frames_id, stack_frame_id
SELECT
    stack_frames_id,  -- The tables the frame is of.
    stack_frame_id,  -- Number of the frame in them.
    call_stack_ids[2] AS parent_frame_id,  -- The frame that called it; null for the outermost.
    call_stack_ids,  -- The frame itself and its callers, innermost first.
    function_name,  -- Function of the user's program.
    source_file,  -- Source file of the user's program.
    source_line,  -- Line in it.
    source_end_line,  -- Line in which the expression ends.
    source_column,  -- Column in which it begins.
    source_end_column  -- Column in which it ends.
FROM raw.stack_frames
