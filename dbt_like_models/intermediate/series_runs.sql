-- One row for each run of a series: the largest dump of a program stands for its run.
-- grain: run_id, program_id, compile_target, platform, track, memory_space
WITH sightings AS (
    SELECT
        o.run_id,
        o.program_id,
        o.compile_target,
        o.platform,
        r.track,
        m.memory_space,
        o.dump_id,
        MAX(o.program_name) AS program_name,
        COUNT(*) AS sighting_count,
        MAX(m.reserved_bytes) AS reserved_bytes,
        MAX(m.thread_local_bytes) AS thread_local_bytes,
        MAX(m.occupied_peak_bytes) AS occupied_peak_bytes,
        MAX(m.layout_padding_bytes) AS layout_padding_bytes,
        MAX(m.slack_bytes) AS slack_bytes
    FROM staging.observations AS o
    INNER JOIN staging.runs AS r ON o.run_id = r.run_id
    INNER JOIN intermediate.space_totals AS m ON o.dump_id = m.dump_id
    GROUP BY o.run_id, o.program_id, o.compile_target, o.platform, r.track, m.memory_space, o.dump_id
),

ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY run_id, program_id, compile_target, platform, track, memory_space
            ORDER BY reserved_bytes DESC, occupied_peak_bytes DESC NULLS LAST, dump_id ASC
        ) AS size_rank,
        COUNT(*) OVER (
            PARTITION BY run_id, program_id, compile_target, platform, track, memory_space
        ) AS variant_count,
        SUM(sighting_count) OVER (
            PARTITION BY run_id, program_id, compile_target, platform, track, memory_space
        ) AS dump_count
    FROM sightings
)

SELECT
    s.run_id,  -- The run.
    s.program_id,  -- The program.
    s.program_name,  -- Its name; a weak key.
    s.compile_target,  -- cpu, tpu or a GPU architecture.
    s.platform,  -- cpu, gpu or tpu.
    s.track,  -- Label that tells series apart.
    s.memory_space,  -- Memory space; 0 is the default.
    s.dump_id,  -- The dump that stands for the run.
    CAST(s.variant_count AS BIGINT) AS variant_count,  -- Different dumps of the program in the run.
    CAST(s.dump_count AS BIGINT) AS dump_count,  -- Files of the program in the run.
    s.reserved_bytes,  -- Reserved bytes, without thread-local ones.
    s.thread_local_bytes,  -- Thread-local bytes.
    s.occupied_peak_bytes,  -- Occupied peak.
    s.layout_padding_bytes,  -- Layout padding alive at the occupied peak.
    s.slack_bytes  -- Slack alive at the occupied peak.
FROM ranked AS s
WHERE s.size_rank = 1
