-- How many programs and runs can be judged: a program is, where one compiler with the same flags compiled it in two runs or
-- more. Why the other runs cannot: they say no flags, else no compiler version, else share no program with another run of
-- the same compiler and flags.
-- grain: run_count
-- reads: determinism_flags (run_id and dump_id, null for what the run says, with effective_flags)
WITH compiled AS (
    SELECT DISTINCT
        p.run_id,
        p.program_id,
        p.compile_target,
        p.compiler,
        p.compiler_version,
        p.compiler_revision,
        p.device_kind,
        p.git_revision,
        COALESCE(f.effective_flags, r.effective_flags) AS effective_flags
    FROM marts.compiled_programs_v1 AS p
    LEFT JOIN determinism_flags AS f ON p.run_id = f.run_id AND p.dump_id = f.dump_id
    LEFT JOIN determinism_flags AS r ON p.run_id = r.run_id AND r.dump_id IS NULL
),

counted AS (
    SELECT
        *,
        MIN(run_id) OVER same <> MAX(run_id) OVER same
        AND compiler_version IS NOT NULL
        AND effective_flags IS NOT NULL AS is_judged
    FROM compiled
    WINDOW
        same AS (
            PARTITION BY
                program_id,
                compile_target,
                compiler,
                compiler_version,
                compiler_revision,
                device_kind,
                git_revision,
                effective_flags
        )
),

by_run AS (
    SELECT
        r.run_id,
        r.compiler_version,
        MAX(c.effective_flags) AS effective_flags,
        COALESCE(BOOL_OR(c.is_judged), FALSE) AS is_judged
    FROM marts.runs_v1 AS r
    LEFT JOIN counted AS c ON r.run_id = c.run_id
    GROUP BY r.run_id, r.compiler_version
),

programs AS (
    SELECT program_id, compile_target, BOOL_OR(is_judged) AS is_judged
    FROM counted
    GROUP BY program_id, compile_target
)

SELECT
    COUNT(*) AS run_count,  -- Runs.
    COUNT(compiler_version) AS versioned_run_count,  -- Of these, runs with a compiler version.
    COUNT(effective_flags) AS flagged_run_count,  -- Runs with dumps and known flags.
    COUNT(*) FILTER (WHERE is_judged) AS judged_run_count,  -- Runs that could be judged.
    COUNT(*) FILTER (WHERE NOT is_judged) AS unjudged_run_count,  -- Runs that could not.
    COUNT(*) FILTER (WHERE effective_flags IS NULL) AS unflagged_run_count,  -- Of these, those without known flags.
    COUNT(*) FILTER (WHERE effective_flags IS NOT NULL AND compiler_version IS NULL)
        AS unversioned_run_count,  -- Those with flags and without a compiler version.
    COUNT(*) FILTER (WHERE NOT is_judged AND effective_flags IS NOT NULL AND compiler_version IS NOT NULL)
        AS lone_run_count,  -- Those that share no program with another run of their compiler and flags.
    (SELECT COUNT(*) FROM programs) AS program_count,  -- Programs, of each compile target.
    (SELECT COUNT(DISTINCT program_id) FROM programs) AS program_id_count,  -- Programs, whatever their compile target.
    (SELECT COUNT(*) FROM programs WHERE is_judged) AS judged_program_count,  -- Of these, those that could be judged.
    (SELECT COUNT(*) FROM programs WHERE NOT is_judged) AS unjudged_program_count  -- Those that could not.
FROM by_run
