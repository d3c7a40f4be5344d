-- The files that tell the options with which the dumps of some runs were compiled.
-- grain: run_id, relative_path, compile_flags_id
-- parameters: run_ids (the runs)
SELECT
    run_id,  -- The run.
    relative_path,  -- The file the dump was seen as.
    compile_flags_id  -- The options of a file beside it.
FROM marts.observation_flags_v1
WHERE run_id IN ($run_ids)
ORDER BY run_id, relative_path, rank
