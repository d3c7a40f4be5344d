-- The dumps of a program, run by run in the order of the runs; the first of a run is the one that stands for it.
-- grain: run_id, dump_id, compile_target
-- parameters: program_id
WITH sightings AS (
    SELECT
        run_id,
        dump_id,
        compile_target,
        platform,
        MIN(program_name) AS program_name,
        MIN(relative_path) AS relative_path,
        MIN(text_bytes) AS text_bytes,
        COUNT(*) AS sighting_count,
        BOOL_OR(did_not_fit) AS did_not_fit,
        BOOL_OR(has_allocations_alone) AS has_allocations_alone
    FROM marts.observations_v2
    WHERE program_id = $program_id
    GROUP BY run_id, dump_id, compile_target, platform
)

SELECT
    s.run_id,  -- The run.
    r.run_order,  -- Its place among all runs, from 1.
    r.run_name,  -- Its name.
    r.started_at,  -- When it started (UTC).
    r.compiler,  -- What embeds XLA.
    r.compiler_version,  -- Version of the compiler.
    s.platform,  -- cpu, gpu or tpu; null where nobody said.
    r.track,  -- Label that tells series apart.
    r.device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    s.compile_target,  -- cpu, tpu or a GPU architecture.
    s.program_name,  -- Name of the program.
    s.dump_id,  -- The dump.
    s.relative_path,  -- A file of it, below the run's root.
    s.text_bytes,  -- Bytes of text.
    s.sighting_count,  -- Files of the run with this content.
    s.did_not_fit,  -- It did not fit, as files beside it or a message of its run say; null where nothing says so.
    s.has_allocations_alone  -- No values and no live ranges: nothing says that its allocations are all.
FROM sightings AS s
INNER JOIN marts.runs_v2 AS r ON s.run_id = r.run_id
LEFT JOIN marts.peak_memory_v1 AS p ON s.dump_id = p.dump_id AND p.memory_space = 0
ORDER BY
    r.run_order ASC,
    p.reserved_bytes DESC NULLS LAST,
    p.occupied_peak_bytes DESC NULLS LAST,
    s.dump_id ASC,
    s.compile_target ASC
