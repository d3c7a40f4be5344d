-- Call stacks frame by frame: each stack frame with all its callers.
-- grain: stack_frames_id, stack_frame_id, depth
WITH callers AS (
    SELECT
        stack_frames_id,
        stack_frame_id,
        UNNEST(RANGE(ARRAY_LENGTH(call_stack_ids))) AS depth,
        UNNEST(call_stack_ids) AS caller_frame_id
    FROM staging.stack_frames
)

SELECT
    c.stack_frames_id,  -- The tables the frames are of.
    c.stack_frame_id,  -- The frame whose call stack it is.
    c.depth,  -- 0 for the frame itself, 1 for its caller, and so on outwards.
    c.caller_frame_id,  -- The frame at this depth.
    f.function_name,  -- Its function.
    f.source_file,  -- Its source file.
    f.source_line,  -- Its line.
    f.source_column  -- Its column.
FROM callers AS c
INNER JOIN staging.stack_frames AS f
    ON c.stack_frames_id = f.stack_frames_id AND c.caller_frame_id = f.stack_frame_id
