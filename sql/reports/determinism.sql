-- Programs that one compiler with one set of flags compiled to different bytes; the largest differences first. Where runs
-- say no compiler version, the same difference in several of them is one row.
-- grain: program_id, compile_target, memory_space, compiler, compiler_version, compiler_revision, xla_flags, git_revision,
-- least_reserved_bytes, most_reserved_bytes, occupied_spread_bytes
SELECT
    program_id,  -- The program.
    MAX(program_name) AS program_name,  -- Its name; a weak key.
    compile_target,  -- cpu, tpu or a GPU architecture.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    compiler,  -- What embeds XLA.
    compiler_version,  -- Its version; null where only the dumps of one run were compared.
    compiler_revision,  -- Source revision of the compiler.
    xla_flags,  -- Flags of the run.
    git_revision,  -- Source revision of the user's program.
    CAST(SUM(run_count) AS BIGINT) AS run_count,  -- Runs.
    MAX(content_count) AS content_count,  -- Different dumps, at most.
    least_reserved_bytes,  -- Least reserved bytes.
    most_reserved_bytes,  -- Most reserved bytes.
    most_reserved_bytes - least_reserved_bytes AS reserved_spread_bytes,  -- Their difference.
    most_occupied_peak_bytes - least_occupied_peak_bytes AS occupied_spread_bytes,  -- The same of the occupied peak.
    MAX(least_run_name) AS least_run_name,  -- A run with the least reserved bytes.
    MAX(most_run_name) AS most_run_name  -- A run with the most.
FROM marts.indeterminate_programs_v1
GROUP BY
    program_id,
    compile_target,
    memory_space,
    compiler,
    compiler_version,
    compiler_revision,
    xla_flags,
    git_revision,
    least_reserved_bytes,
    most_reserved_bytes,
    most_occupied_peak_bytes - least_occupied_peak_bytes
ORDER BY
    reserved_spread_bytes DESC,
    most_reserved_bytes DESC,
    program_name ASC,
    program_id ASC,
    memory_space ASC,
    least_run_name ASC,
    most_run_name ASC
