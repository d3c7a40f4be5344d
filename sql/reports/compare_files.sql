-- The files of a run, each with its dump and its program.
-- grain: relative_path
-- parameters: run_id
SELECT
    o.relative_path,  -- Path of the file below the run's root.
    o.program_id,  -- The program: its name and entry signature.
    o.dump_id,  -- The content of the file.
    o.program_name,  -- Name of the program; a weak key.
    o.platform,  -- cpu, gpu or tpu; null where nobody said.
    o.compile_target,  -- cpu, tpu or a GPU architecture.
    p.entry_signature,  -- Element types and dimensions of its parameters and its output.
    o.did_not_fit,  -- It did not fit, as files beside it or a message of its run say; null where nothing says so.
    o.has_allocations_alone  -- No values and no live ranges: nothing says that its allocations are all.
FROM marts.observations_v2 AS o
INNER JOIN marts.programs_v1 AS p ON o.program_id = p.program_id
WHERE o.run_id = $run_id
ORDER BY o.program_id, o.dump_id, o.relative_path
