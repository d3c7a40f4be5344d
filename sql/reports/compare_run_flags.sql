-- The flags that two runs say they were compiled with; Python compares those that may change code, `effective_flags`.
-- grain: run_id
-- parameters: before_run_id, after_run_id
SELECT DISTINCT
    run_id,  -- The run.
    xla_flags  -- XLA_FLAGS of the run.
FROM marts.compiled_programs_v1
WHERE run_id IN ($before_run_id, $after_run_id) AND xla_flags IS NOT NULL
