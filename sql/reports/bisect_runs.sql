-- All runs with what compiled them, the newest first: those of bisections among them bear a label.
-- grain: run_id
SELECT
    r.run_id,  -- The run.
    r.run_name,  -- Its name.
    r.compiler,  -- What embeds XLA.
    r.compiler_version,  -- Its version.
    MAX(c.xla_flags) AS xla_flags  -- XLA_FLAGS of the run; null where nobody said.
FROM marts.runs_v2 AS r
INNER JOIN marts.compiled_programs_v1 AS c ON r.run_id = c.run_id
GROUP BY r.run_id, r.run_name, r.compiler, r.compiler_version, r.run_order
ORDER BY r.run_order DESC
