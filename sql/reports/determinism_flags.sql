-- The flags of runs, as they were recorded; Python adds those that may change code, `effective_flags`.
-- grain: xla_flags
SELECT DISTINCT xla_flags  -- XLA_FLAGS of a run.
FROM marts.compiled_programs_v1
WHERE xla_flags IS NOT NULL
