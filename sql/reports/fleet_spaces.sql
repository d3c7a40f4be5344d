-- The tables of the fleet report: how many series each holds, and how many of these moved.
-- grain: platform, track, memory_space
WITH newest_runs AS (
    SELECT
        platform,
        track,
        device_kind,
        ARG_MAX(run_id, run_order) AS run_id
    FROM fleet_series_runs
    GROUP BY platform, track, device_kind
),

series_counts AS (
    SELECT
        s.platform,
        s.track,
        s.memory_space,
        COUNT(*) AS series_count,
        COUNT(DISTINCT s.program_id) AS program_count,
        COUNT(DISTINCT (s.program_id, s.compile_target)) AS target_count,
        COUNT(*) FILTER (WHERE s.has_moved) AS moved_count,
        COUNT(*) FILTER (WHERE s.run_count = 1) AS single_run_count,
        COUNT(*) FILTER (WHERE s.run_id <> n.run_id) AS absent_count
    FROM fleet_series AS s
    INNER JOIN newest_runs AS n
        ON
            s.platform IS NOT DISTINCT FROM n.platform
            AND s.track IS NOT DISTINCT FROM n.track
            AND s.device_kind IS NOT DISTINCT FROM n.device_kind
    GROUP BY s.platform, s.track, s.memory_space
),

space_runs AS (
    SELECT
        platform,
        track,
        memory_space,
        LIST_SORT(LIST(DISTINCT run_id)) AS run_ids
    FROM fleet_series_runs
    GROUP BY platform, track, memory_space
)

SELECT
    s.platform,  -- cpu, gpu or tpu; null where nobody said.
    s.track,  -- Label that tells series apart.
    s.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    r.run_ids,  -- Runs with a series here.
    s.series_count,  -- Series: programs, each compile target and kind of device apart.
    s.program_count,  -- Programs.
    s.target_count,  -- Programs, each compile target apart.
    s.moved_count,  -- Of these, those whose reserved bytes changed from one run to the next.
    s.single_run_count,  -- Of these, those of one run, which cannot have moved.
    s.series_count - s.moved_count - s.single_run_count AS unchanged_count,  -- Of these, those that never changed.
    s.absent_count  -- Of all these, those that are not in the newest run of their platform, track and device.
FROM series_counts AS s
INNER JOIN space_runs AS r
    ON
        s.platform IS NOT DISTINCT FROM r.platform
        AND s.track IS NOT DISTINCT FROM r.track
        AND s.memory_space = r.memory_space
ORDER BY s.platform ASC NULLS LAST, s.track ASC NULLS FIRST, s.memory_space ASC
