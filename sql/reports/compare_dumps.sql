-- The different dumps of two runs, each with its program.
-- grain: run_id, program_id, dump_id
-- parameters: before_run_id, after_run_id
SELECT
    o.run_id,  -- The run.
    o.program_id,  -- The program: its name and entry signature.
    o.dump_id,  -- A content of it.
    MAX(o.program_name) AS program_name,  -- Its name; a weak key.
    MAX(o.platform) AS platform,  -- cpu, gpu or tpu; null where nobody said.
    MAX(o.compile_target) AS compile_target,  -- cpu, tpu or a GPU architecture.
    COUNT(*) AS dump_count,  -- How often the run has it.
    MAX(p.entry_signature) AS entry_signature,  -- Element types and dimensions of its parameters and its output.
    BOOL_OR(o.did_not_fit) AS did_not_fit,  -- It did not fit, as files beside it or a message of its run say; null where nothing says so.
    BOOL_OR(o.has_allocations_alone) AS has_allocations_alone  -- No values and no live ranges: nothing says that its allocations are all.
FROM marts.observations_v2 AS o
INNER JOIN marts.programs_v1 AS p ON o.program_id = p.program_id
WHERE o.run_id IN ($before_run_id, $after_run_id)
GROUP BY o.run_id, o.program_id, o.dump_id
ORDER BY o.program_id, o.dump_id, o.run_id
