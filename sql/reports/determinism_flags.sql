-- The flags of compilations: as they were recorded for a run, and as files beside a dump tell them; Python adds those that
-- may change code, `effective_flags`.
-- grain: run_id, dump_id, compile_flags_id
SELECT DISTINCT
    run_id,  -- The run.
    CAST(NULL AS BIGINT) AS dump_id,  -- The dump; null for what the run says.
    xla_flags,  -- XLA_FLAGS of the run.
    CAST(NULL AS BIGINT) AS compile_flags_id  -- The options of a file beside the dump.
FROM marts.compiled_programs_v1
WHERE xla_flags IS NOT NULL
UNION ALL
SELECT DISTINCT
    run_id,
    dump_id,
    CAST(NULL AS VARCHAR) AS xla_flags,
    compile_flags_id
FROM marts.observation_flags_v1
ORDER BY ALL
