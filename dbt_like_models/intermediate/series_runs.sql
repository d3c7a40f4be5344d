-- One row for each run of a series: the largest dump of a program represents its run.
-- grain: run_id, program_id, compile_target, platform, track, memory_space
-- A run and a compile target have one platform and one track: neither is a key of a group.
WITH sightings AS (
    SELECT
        o.run_id,
        o.program_id,
        o.compile_target,
        o.dump_id,
        MAX(o.platform) AS platform,
        MAX(o.program_name) AS program_name,
        COUNT(*) AS sighting_count
    FROM staging.observations AS o
    GROUP BY o.run_id, o.program_id, o.compile_target, o.dump_id
),

largest AS (
    SELECT
        o.run_id,
        o.program_id,
        o.compile_target,
        m.memory_space,
        MAX(o.platform) AS platform,
        MAX(o.program_name) AS program_name,
        COUNT(*) AS variant_count,
        SUM(o.sighting_count) AS dump_count,
        -- Among dumps of equal size the one with the least dump_id represents the run.
        ARG_MAX(o.dump_id, (m.reserved_bytes, COALESCE(m.occupied_peak_bytes, -1), -o.dump_id)) AS dump_id
    FROM sightings AS o
    INNER JOIN intermediate.space_totals AS m ON o.dump_id = m.dump_id
    GROUP BY o.run_id, o.program_id, o.compile_target, m.memory_space
)

SELECT
    s.run_id,  -- The run.
    s.program_id,  -- The program.
    s.program_name,  -- Its name; a weak key.
    s.compile_target,  -- cpu, tpu or a GPU architecture.
    s.platform,  -- cpu, gpu or tpu.
    r.track,  -- Label that tells series apart.
    r.device_kind,  -- Device the run compiled for; null where nobody said.
    s.memory_space,  -- Memory space; 0 is the default.
    s.dump_id,  -- The dump that stands for the run.
    CAST(s.variant_count AS BIGINT) AS variant_count,  -- Different dumps of the program in the run.
    CAST(s.dump_count AS BIGINT) AS dump_count,  -- Files of the program in the run.
    m.reserved_bytes,  -- Reserved bytes, without thread-local ones.
    m.thread_local_bytes,  -- Thread-local bytes.
    m.occupied_peak_bytes,  -- Occupied peak.
    m.layout_padding_bytes,  -- Layout padding alive at the occupied peak.
    m.slack_bytes  -- Slack alive at the occupied peak.
FROM largest AS s
INNER JOIN staging.runs AS r ON s.run_id = r.run_id
INNER JOIN intermediate.space_totals AS m ON s.dump_id = m.dump_id AND s.memory_space = m.memory_space
