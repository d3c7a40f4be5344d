-- Programs that one compiler with one set of flags compiled to different bytes, in each memory space. A run without
-- a compiler version is compared with itself only. Programs of one name and signature may still be different code.
-- grain: program_id, compile_target, memory_space, compiler, compiler_version, compiler_revision, xla_flags, git_revision,
-- single_run_id
-- portable: yes
WITH seen AS (
    SELECT DISTINCT
        o.program_id,
        o.program_name,
        o.compile_target,
        r.run_id,
        r.run_name,
        r.compiler,
        r.compiler_version,
        o.compiler_revision,
        r.xla_flags,
        r.git_revision,
        CASE WHEN r.compiler_version IS NULL THEN r.run_id END AS single_run_id,
        o.dump_id
    FROM staging.observations AS o
    INNER JOIN staging.runs AS r ON o.run_id = r.run_id
)

SELECT
    s.program_id,  -- The program.
    MAX(s.program_name) AS program_name,  -- Its name; a weak key.
    s.compile_target,  -- cpu, tpu or a GPU architecture.
    t.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    s.compiler,  -- What embeds XLA.
    s.compiler_version,  -- Its version.
    s.compiler_revision,  -- Source revision of the compiler.
    s.xla_flags,  -- Flags of the run.
    s.git_revision,  -- Source revision of the user's program, where the run says one.
    s.single_run_id,  -- The run, where it says no compiler version; null where runs of one compiler are compared.
    COUNT(DISTINCT s.run_id) AS run_count,  -- Runs.
    COUNT(DISTINCT s.dump_id) AS content_count,  -- Different dumps.
    COUNT(DISTINCT t.reserved_bytes) AS size_count,  -- Different sums of reserved bytes.
    MIN(t.reserved_bytes) AS least_reserved_bytes,  -- Least reserved bytes.
    MAX(t.reserved_bytes) AS most_reserved_bytes,  -- Most reserved bytes.
    MIN(t.occupied_peak_bytes) AS least_occupied_peak_bytes,  -- Lowest occupied peak; null without live ranges.
    MAX(t.occupied_peak_bytes) AS most_occupied_peak_bytes,  -- Highest occupied peak.
    MIN_BY(s.run_name, t.reserved_bytes) AS least_run_name,  -- A run with the least reserved bytes.
    MAX_BY(s.run_name, t.reserved_bytes) AS most_run_name  -- A run with the most.
FROM seen AS s
INNER JOIN intermediate.space_totals AS t ON s.dump_id = t.dump_id
GROUP BY
    s.program_id,
    s.compile_target,
    t.memory_space,
    s.compiler,
    s.compiler_version,
    s.compiler_revision,
    s.xla_flags,
    s.git_revision,
    s.single_run_id
HAVING COUNT(DISTINCT t.reserved_bytes) > 1 OR COUNT(DISTINCT t.occupied_peak_bytes) > 1
