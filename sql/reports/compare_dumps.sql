-- The different dumps of two runs, each with its program.
-- grain: run_id, program_id, dump_id
-- parameters: before_run_id, after_run_id
SELECT
    run_id,  -- The run.
    program_id,  -- The program: its name and entry signature.
    dump_id,  -- A content of it.
    MAX(program_name) AS program_name,  -- Its name; a weak key.
    MAX(platform) AS platform,  -- cpu, gpu or tpu; null where nobody said.
    MAX(compile_target) AS compile_target,  -- cpu, tpu or a GPU architecture.
    COUNT(*) AS dump_count  -- How often the run has it.
FROM marts.observations_v1
WHERE run_id IN ($before_run_id, $after_run_id)
GROUP BY run_id, program_id, dump_id
ORDER BY program_id, dump_id, run_id
