-- Of how many runs the compiler's version is known.
-- grain: run_count
SELECT
    COUNT(*) AS run_count,  -- Runs.
    COUNT(compiler_version) AS versioned_run_count  -- Of these, runs with a compiler version.
FROM marts.runs_v1
