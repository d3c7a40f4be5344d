-- Programs that one compiler with one set of flags compiled to different bytes; the largest differences first. Flags about
-- dumping, logging and directories do not count. A run that says no compiler version or no flags is compared with itself
-- only, and the same difference in several such runs is one row.
-- grain: program_id, compile_target, memory_space, compiler, compiler_version, compiler_revision, device_kind,
-- effective_flags, git_revision, basis, least_reserved_bytes, most_reserved_bytes, occupied_spread_bytes
-- reads: determinism_flags (run_id and dump_id, null for what the run says, with effective_flags)
WITH flagged AS (
    SELECT
        p.*,
        COALESCE(f.effective_flags, r.effective_flags) AS effective_flags,
        CASE WHEN p.compiler_version IS NULL OR COALESCE(f.effective_flags, r.effective_flags) IS NULL THEN p.run_id END
            AS single_run_id
    FROM marts.compiled_programs_v1 AS p
    LEFT JOIN determinism_flags AS f ON p.run_id = f.run_id AND p.dump_id = f.dump_id
    LEFT JOIN determinism_flags AS r ON p.run_id = r.run_id AND r.dump_id IS NULL
),

told AS (
    SELECT
        *,
        DENSE_RANK() OVER (
            ORDER BY
                program_id,
                compile_target,
                compiler,
                compiler_version,
                compiler_revision,
                device_kind,
                effective_flags,
                git_revision,
                single_run_id
        ) AS result_number
    FROM flagged
),

dumps AS (
    SELECT * EXCLUDE (memory_space, reserved_bytes, occupied_peak_bytes), MAX(occupied_peak_bytes) AS highest_peak_bytes
    FROM told
    GROUP BY ALL
),

spaces AS (
    SELECT DISTINCT result_number, memory_space FROM told
),

compiled AS (  -- A dump that has nothing in a memory space takes 0 bytes there, which may be other bytes.
    SELECT
        d.*,
        s.memory_space,
        COALESCE(t.reserved_bytes, 0) AS reserved_bytes,
        CASE WHEN d.highest_peak_bytes IS NOT NULL THEN COALESCE(t.occupied_peak_bytes, 0) END AS occupied_peak_bytes
    FROM dumps AS d
    INNER JOIN spaces AS s ON d.result_number = s.result_number
    LEFT JOIN told AS t
        ON
            d.result_number = t.result_number AND d.run_id = t.run_id AND d.dump_id = t.dump_id
            AND s.memory_space = t.memory_space
),

differing AS (
    SELECT
        program_id,
        compile_target,
        memory_space,
        compiler,
        compiler_version,
        compiler_revision,
        device_kind,
        effective_flags,
        git_revision,
        single_run_id,
        MAX(program_name) AS program_name,
        MIN(xla_flags) AS least_flags,
        MAX(xla_flags) AS most_flags,
        COUNT(DISTINCT run_id) AS run_count,
        COUNT(DISTINCT dump_id) AS content_count,
        MIN(reserved_bytes) AS least_reserved_bytes,
        MAX(reserved_bytes) AS most_reserved_bytes,
        MAX(occupied_peak_bytes) - MIN(occupied_peak_bytes) AS occupied_spread_bytes,
        MIN_BY(run_name, (reserved_bytes, run_name)) AS least_run_name,
        MAX_BY(run_name, (reserved_bytes, run_name)) AS most_run_name
    FROM compiled
    GROUP BY ALL
    HAVING COUNT(DISTINCT reserved_bytes) > 1 OR COUNT(DISTINCT occupied_peak_bytes) > 1
)

SELECT
    program_id,  -- The program.
    MAX(program_name) AS program_name,  -- Its name; a weak key.
    compile_target,  -- cpu, tpu or a GPU architecture.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    compiler,  -- What embeds XLA.
    compiler_version,  -- Its version; null where nobody said.
    compiler_revision,  -- Source revision of the compiler.
    device_kind,  -- Device that it compiled for; null where nobody said.
    effective_flags,  -- Flags that may change what is compiled; null where the run says none.
    CASE WHEN MIN(least_flags) = MAX(most_flags) THEN MIN(least_flags) END
        AS xla_flags,  -- Flags as recorded; null where runs differ in those that change nothing, or say none.
    git_revision,  -- Source revision of the user's program.
    CASE WHEN single_run_id IS NULL THEN 'same flags' ELSE 'one run' END
        AS basis,  -- Why one result was to be expected: the same flags, or else one run, whatever its flags are.
    CAST(SUM(run_count) AS BIGINT) AS run_count,  -- Runs.
    MAX(content_count) AS content_count,  -- Different dumps, at most.
    least_reserved_bytes,  -- Least reserved bytes.
    most_reserved_bytes,  -- Most reserved bytes.
    most_reserved_bytes - least_reserved_bytes AS reserved_spread_bytes,  -- Their difference.
    occupied_spread_bytes,  -- The same of the occupied peak.
    MAX(least_run_name) AS least_run_name,  -- A run with the least reserved bytes.
    MAX(most_run_name) AS most_run_name  -- A run with the most.
FROM differing
GROUP BY ALL
ORDER BY
    reserved_spread_bytes DESC,
    most_reserved_bytes DESC,
    program_name ASC,
    program_id ASC,
    compile_target ASC,
    memory_space ASC,
    least_run_name ASC,
    most_run_name ASC,
    effective_flags ASC
