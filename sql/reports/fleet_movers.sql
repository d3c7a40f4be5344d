-- The series that the fleet report shows as movers, with the dumps of their first and their newest run, which are
-- compared to name the cause of the net change.
-- grain: program_id, compile_target, platform, track, device_kind, memory_space
-- parameters: shown (series per platform, track and memory space)
SELECT
    platform,  -- cpu, gpu or tpu; null where nobody said.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    series_rank,  -- Place of the series in its table, from 1.
    program_id,  -- The program.
    program_name,  -- Its name; a weak key.
    compile_target,  -- cpu, tpu or a GPU architecture.
    first_run_name,  -- Its first run.
    first_dump_id AS before_dump_id,  -- The dump that stands for that.
    run_name AS last_run_name,  -- Its newest run.
    dump_id AS after_dump_id,  -- The dump that stands for that.
    last_reserved_bytes - first_reserved_bytes
        AS net_change_bytes  -- Change of reserved bytes from the first run of the series to its last.
FROM fleet_series
WHERE has_moved AND series_rank <= $shown
ORDER BY platform ASC NULLS LAST, track ASC NULLS FIRST, memory_space ASC, series_rank ASC
