-- The dumps that messages say did not fit, with the capacity of the default memory space where one prints it.
-- grain: run_id, dump_id
SELECT
    run_id,  -- The run.
    dump_id,  -- The dump.
    MAX(CASE WHEN memory_space_name = 'hbm' THEN capacity_bytes END) AS capacity_bytes  -- Bytes of the default memory space that a program may take.
FROM intermediate.oom_joined
WHERE is_explained AND is_failure
GROUP BY run_id, dump_id
