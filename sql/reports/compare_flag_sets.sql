-- The files that tell the options with which the dumps of two runs were compiled.
-- grain: run_id, dump_id, relative_path, compile_flags_id
-- parameters: before_run_id, after_run_id
SELECT
    run_id,  -- The run.
    dump_id,  -- The dump.
    relative_path,  -- The file it was seen as.
    compile_flags_id  -- The options of a file beside it.
FROM marts.observation_flags_v1
WHERE run_id IN ($before_run_id, $after_run_id)
ORDER BY run_id, dump_id, relative_path, rank
