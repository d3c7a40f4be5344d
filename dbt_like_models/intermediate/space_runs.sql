-- One row for each run of a series, also for one in which the program has nothing in the memory space: it takes 0 bytes
-- there, as long as a run with the same track and device has the program with bytes in that space.
-- grain: run_id, program_id, compile_target, platform, track, memory_space
WITH programs AS (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY run_id, program_id, compile_target ORDER BY memory_space) AS space_rank
    FROM intermediate.series_runs
),

spaces AS (
    SELECT DISTINCT program_id, compile_target, platform, track, device_kind, memory_space
    FROM programs
)

-- The dump that represents the lowest memory space of the program also represents spaces in which it has nothing.
SELECT
    p.run_id,  -- The run.
    p.program_id,  -- The program.
    p.program_name,  -- Its name; a weak key.
    p.compile_target,  -- cpu, tpu or a GPU architecture.
    p.platform,  -- cpu, gpu or tpu.
    p.track,  -- Label that tells series apart.
    p.device_kind,  -- Device the run compiled for; null where nobody said.
    a.memory_space,  -- Memory space; 0 is the default.
    COALESCE(s.dump_id, p.dump_id) AS dump_id,  -- The dump that stands for the run.
    COALESCE(s.variant_count, p.variant_count) AS variant_count,  -- Different dumps of the program in the run.
    COALESCE(s.dump_count, p.dump_count) AS dump_count,  -- Files of the program in the run.
    COALESCE(s.reserved_bytes, 0) AS reserved_bytes,  -- Reserved bytes, without thread-local ones.
    COALESCE(s.thread_local_bytes, 0) AS thread_local_bytes,  -- Thread-local bytes.
    CASE
        WHEN s.run_id IS NOT NULL THEN s.occupied_peak_bytes
        WHEN p.occupied_peak_bytes IS NOT NULL THEN 0
    END AS occupied_peak_bytes,  -- Occupied peak; null without live ranges.
    CASE
        WHEN s.run_id IS NOT NULL THEN s.layout_padding_bytes
        WHEN p.layout_padding_bytes IS NOT NULL THEN 0
    END AS layout_padding_bytes,  -- Layout padding alive at the occupied peak.
    CASE
        WHEN s.run_id IS NOT NULL THEN s.slack_bytes
        WHEN p.slack_bytes IS NOT NULL THEN 0
    END AS slack_bytes  -- Slack alive at the occupied peak.
FROM programs AS p
INNER JOIN spaces AS a
    ON
        p.program_id = a.program_id
        AND p.compile_target IS NOT DISTINCT FROM a.compile_target
        AND p.platform IS NOT DISTINCT FROM a.platform
        AND p.track IS NOT DISTINCT FROM a.track
        AND p.device_kind IS NOT DISTINCT FROM a.device_kind
LEFT JOIN programs AS s
    ON
        p.run_id = s.run_id
        AND p.program_id = s.program_id
        AND p.compile_target IS NOT DISTINCT FROM s.compile_target
        AND a.memory_space = s.memory_space
WHERE p.space_rank = 1
