-- The different dumps of some runs, each with its program and what is known of what compiled it.
-- grain: run_id, program_id, dump_id
-- parameters: run_ids (the runs)
SELECT
    o.run_id,  -- The run.
    o.program_id,  -- The program: its name and entry signature.
    o.dump_id,  -- A content of it.
    MIN(o.relative_path) AS relative_path,  -- A file it was seen as.
    MAX(o.program_name) AS program_name,  -- Its name: the function.
    MAX(p.entry_signature) AS entry_signature,  -- Element types and dimensions of its parameters and its output.
    MAX(o.platform) AS platform,  -- cpu, gpu or tpu; null where nobody said.
    COALESCE(MAX(r.device_kind), MAX(o.compile_target), MAX(o.platform), 'unknown') AS chip,  -- What it is compiled for.
    MAX(r.run_name) AS run_name,  -- The name of the run.
    MAX(c.compiler) AS compiler,  -- What embeds XLA; null where nobody said.
    MAX(c.compiler_version) AS compiler_version,  -- Its version.
    MAX(o.compiler_revision) AS compiler_revision,  -- Source revision of the compiler.
    MAX(c.xla_flags) AS xla_flags,  -- XLA_FLAGS of the run.
    BOOL_OR(o.did_not_fit) AS did_not_fit,  -- It did not fit, as files beside it or a message of its run say; null where nothing says so.
    BOOL_OR(o.has_allocations_alone) AS has_allocations_alone  -- No values and no live ranges: nothing says that these are all.
FROM marts.observations_v2 AS o
INNER JOIN marts.programs_v1 AS p ON o.program_id = p.program_id
INNER JOIN marts.runs_v2 AS r ON o.run_id = r.run_id
LEFT JOIN marts.compiled_programs_v1 AS c ON o.run_id = c.run_id AND o.program_id = c.program_id AND o.dump_id = c.dump_id
WHERE o.run_id IN ($run_ids)
GROUP BY o.run_id, o.program_id, o.dump_id
ORDER BY o.run_id, o.program_id, o.dump_id
