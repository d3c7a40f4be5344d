-- The series that the fleet report shows, run by run, the biggest movers first: by net change, then by the largest
-- change from one run to the next. Series of one run follow by size, unchanged ones are left out.
-- grain: run_id, program_id, compile_target, platform, track, memory_space
-- parameters: shown (series per platform, track and memory space), runs (newest runs per platform, track and space)
WITH series_runs AS (
    SELECT
        t.*,
        r.run_order,
        COUNT(*) OVER series AS series_run_count,
        MAX(ABS(t.reserved_change_bytes)) OVER series AS largest_change_bytes,
        FIRST_VALUE(t.reserved_bytes) OVER in_order AS first_reserved_bytes,
        LAST_VALUE(t.reserved_bytes) OVER in_order AS last_reserved_bytes,
        MIN(t.program_id) OVER name <> MAX(t.program_id) OVER name AS has_namesakes
    FROM marts.memory_space_trend_v1 AS t
    INNER JOIN marts.runs_v1 AS r ON t.run_id = r.run_id
    WINDOW
        series AS (PARTITION BY t.platform, t.track, t.memory_space, t.program_id, t.compile_target),
        in_order AS (
            PARTITION BY t.platform, t.track, t.memory_space, t.program_id, t.compile_target
            ORDER BY t.run_number ASC
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        ),
        name AS (PARTITION BY t.program_name)
),

ranked AS (
    SELECT
        *,
        last_reserved_bytes - first_reserved_bytes AS net_change_bytes,
        series_run_count > 1 AND largest_change_bytes = 0 AS is_unchanged,
        DENSE_RANK() OVER (
            PARTITION BY platform, track, memory_space
            ORDER BY
                CASE WHEN largest_change_bytes > 0 THEN 1 WHEN series_run_count = 1 THEN 2 ELSE 3 END ASC,
                ABS(last_reserved_bytes - first_reserved_bytes) DESC,
                largest_change_bytes DESC NULLS LAST,
                last_reserved_bytes DESC,
                program_name ASC,
                program_id ASC,
                compile_target ASC
        ) AS series_rank,
        DENSE_RANK() OVER (
            PARTITION BY platform, track, memory_space
            ORDER BY run_order DESC
        ) AS run_newness
    FROM series_runs
)

SELECT
    platform,  -- cpu, gpu or tpu; null where nobody said.
    track,  -- Label that tells series apart.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    series_rank,  -- Place of the series in its table, from 1.
    program_id,  -- The program.
    program_name,  -- Its name; a weak key.
    has_namesakes,  -- Whether other programs of the warehouse bear that name.
    compile_target,  -- cpu, tpu or a GPU architecture.
    series_run_count,  -- Runs of the series.
    net_change_bytes,  -- Change of reserved bytes from the first run of the series to its last.
    run_id,  -- The run.
    run_name,  -- Its name.
    reserved_bytes,  -- Reserved bytes, without thread-local ones.
    reserved_change_bytes,  -- Change against the previous run of the series; null in its first run.
    occupied_peak_bytes,  -- Occupied peak; null without live ranges.
    layout_padding_bytes  -- Layout padding alive at the occupied peak.
FROM ranked
WHERE NOT is_unchanged AND series_rank <= $shown AND run_newness <= $runs
ORDER BY platform ASC NULLS LAST, track ASC NULLS FIRST, memory_space ASC, series_rank ASC, run_newness DESC
