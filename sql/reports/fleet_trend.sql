-- The series that the fleet report shows, run by run, the biggest movers first: by net change, then by the largest
-- change from one run to the next. Series of one run follow by size, unchanged ones are left out.
-- grain: run_id, program_id, compile_target, platform, track, device_kind, memory_space
-- parameters: shown (series per platform, track and memory space), runs (newest runs per platform, track and space)
WITH space_runs AS (
    SELECT
        platform,
        track,
        memory_space,
        run_order,
        ROW_NUMBER() OVER (PARTITION BY platform, track, memory_space ORDER BY run_order DESC) AS run_newness
    FROM fleet_series_runs
    GROUP BY platform, track, memory_space, run_order
)

SELECT
    s.platform,  -- cpu, gpu or tpu; null where nobody said.
    s.track,  -- Label that tells series apart.
    s.device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    s.has_devices,  -- Whether series of other devices are beside it.
    s.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    s.series_rank,  -- Place of the series in its table, from 1.
    s.program_id,  -- The program.
    s.program_name,  -- Its name; a weak key.
    s.has_namesakes,  -- Whether other programs of the warehouse bear that name.
    s.compile_target,  -- cpu, tpu or a GPU architecture.
    s.run_count AS series_run_count,  -- Runs of the series.
    s.last_reserved_bytes - s.first_reserved_bytes
        AS net_change_bytes,  -- Change of reserved bytes from the first run of the series to its last.
    t.run_id,  -- The run.
    t.run_name,  -- Its name.
    t.reserved_bytes,  -- Reserved bytes, without thread-local ones.
    t.reserved_change_bytes,  -- Change against the previous run of the series; null in its first run.
    t.occupied_peak_bytes,  -- Occupied peak; null without live ranges.
    t.layout_padding_bytes  -- Layout padding alive at the occupied peak.
FROM fleet_series AS s
INNER JOIN fleet_series_runs AS t
    ON
        s.program_id = t.program_id
        AND s.memory_space = t.memory_space
        AND s.compile_target IS NOT DISTINCT FROM t.compile_target
        AND s.platform IS NOT DISTINCT FROM t.platform
        AND s.track IS NOT DISTINCT FROM t.track
        AND s.device_kind IS NOT DISTINCT FROM t.device_kind
INNER JOIN space_runs AS n
    ON
        t.run_order = n.run_order
        AND t.memory_space = n.memory_space
        AND t.platform IS NOT DISTINCT FROM n.platform
        AND t.track IS NOT DISTINCT FROM n.track
WHERE (s.has_moved OR s.run_count = 1) AND s.series_rank <= $shown AND n.run_newness <= $runs
ORDER BY
    s.platform ASC NULLS LAST, s.track ASC NULLS FIRST, s.memory_space ASC, s.series_rank ASC, n.run_newness DESC
