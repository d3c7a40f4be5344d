-- The stack frames of each dump that was seen beside a module text with frames: those of the newest such sighting.
-- The same dump may be compiled again from source whose lines have moved.
-- grain: dump_id
SELECT
    dump_id,  -- The dump; one without a row was never seen with stack frames.
    ARG_MAX(stack_frames_id, (load_id, module_text_mtime_ns, stack_frames_id)) AS stack_frames_id  -- The tables.
FROM raw.observations
WHERE stack_frames_id IS NOT NULL
GROUP BY dump_id
