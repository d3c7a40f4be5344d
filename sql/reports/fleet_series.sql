-- Every series with its first and its newest run: kept while the fleet report is asked, as fleet_series_runs is.
-- grain: program_id, compile_target, platform, track, device_kind, memory_space
WITH series AS (
    SELECT
        platform,
        track,
        device_kind,
        memory_space,
        program_id,
        compile_target,
        MAX(program_name) AS program_name,
        COUNT(*) AS run_count,
        MAX(ABS(reserved_change_bytes)) AS largest_change_bytes,
        ARG_MIN(reserved_bytes, run_number) AS first_reserved_bytes,
        ARG_MIN(run_name, run_number) AS first_run_name,
        ARG_MIN(dump_id, run_number) AS first_dump_id,
        ARG_MAX(reserved_bytes, run_number) AS last_reserved_bytes,
        MAX(run_number) AS last_run_number
    FROM fleet_series_runs
    GROUP BY platform, track, device_kind, memory_space, program_id, compile_target
)

SELECT
    s.platform,  -- cpu, gpu or tpu; null where nobody said.
    s.track,  -- Label that tells series apart.
    s.device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    -- Whether series of other devices are beside it.
    COALESCE(
        MIN(COALESCE(s.device_kind, '')) OVER place <> MAX(COALESCE(s.device_kind, '')) OVER place, FALSE
    ) AS has_devices,
    s.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    s.program_id,  -- The program.
    s.program_name,  -- Its name; a weak key.
    -- Whether other programs of the warehouse bear that name.
    MIN(s.program_id) OVER name <> MAX(s.program_id) OVER name AS has_namesakes,
    s.compile_target,  -- cpu, tpu or a GPU architecture.
    s.run_count,  -- Runs of the series.
    COALESCE(s.largest_change_bytes > 0, FALSE) AS has_moved,  -- Whether reserved bytes changed between two runs.
    s.largest_change_bytes,  -- Largest change from one run to the next, without its sign; null for a single run.
    s.first_run_name,  -- Its first run.
    s.first_dump_id,  -- The dump that stands for that.
    s.first_reserved_bytes,  -- Reserved bytes of its first run.
    s.last_reserved_bytes,  -- Reserved bytes of its newest run.
    -- Its place in its platform, track and memory space, from 1: the biggest movers first, by net change, then by the
    -- largest change from one run to the next; series of one run follow by size, then unchanged ones.
    ROW_NUMBER() OVER (
        PARTITION BY s.platform, s.track, s.memory_space
        ORDER BY
            CASE WHEN s.largest_change_bytes > 0 THEN 1 WHEN s.run_count = 1 THEN 2 ELSE 3 END ASC,
            ABS(s.last_reserved_bytes - s.first_reserved_bytes) DESC,
            s.largest_change_bytes DESC NULLS LAST,
            s.last_reserved_bytes DESC,
            s.program_name ASC,
            s.program_id ASC,
            s.compile_target ASC,
            s.device_kind ASC NULLS FIRST
    ) AS series_rank,
    l.run_id,  -- The newest run.
    l.run_name,  -- Its name.
    l.dump_id,  -- The dump that stands for it.
    l.occupied_peak_bytes,  -- Its occupied peak; null without live ranges.
    l.layout_padding_bytes  -- Layout padding alive at that peak.
FROM series AS s
INNER JOIN fleet_series_runs AS l
    ON
        s.program_id = l.program_id
        AND s.memory_space = l.memory_space
        AND s.last_run_number = l.run_number
        AND s.compile_target IS NOT DISTINCT FROM l.compile_target
        AND s.platform IS NOT DISTINCT FROM l.platform
        AND s.track IS NOT DISTINCT FROM l.track
        AND s.device_kind IS NOT DISTINCT FROM l.device_kind
WINDOW name AS (PARTITION BY s.program_name), place AS (PARTITION BY s.platform, s.track, s.memory_space)
