-- The programs by size: the newest run of every series, those that reserve most first.
-- grain: platform, track, memory_space, program_id, compile_target
-- parameters: programs (rows)
SELECT
    program_name
    || CASE WHEN has_namesakes THEN ' #' || LEFT(CAST(program_id AS VARCHAR), 8) ELSE '' END
        AS program_label,  -- Its name; beside others of that name its id begins so.
    program_id,  -- The program.
    compile_target,  -- cpu, tpu or a GPU architecture.
    platform,  -- cpu, gpu or tpu; null where nobody said.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    run_name,  -- The newest run of the series.
    run_count,  -- Runs of the series.
    last_reserved_bytes AS reserved_bytes,  -- Reserved bytes, without thread-local ones.
    CASE WHEN run_count > 1 THEN last_reserved_bytes - first_reserved_bytes END
        AS net_change_bytes,  -- Change of reserved bytes from the first run to the newest; null for a single run.
    occupied_peak_bytes,  -- Occupied peak; null without live ranges.
    layout_padding_bytes  -- Layout padding alive at the occupied peak.
FROM fleet_series
ORDER BY
    last_reserved_bytes DESC,
    program_name ASC,
    program_id ASC,
    compile_target ASC,
    platform ASC NULLS LAST,
    track ASC NULLS FIRST,
    memory_space ASC,
    device_kind ASC NULLS FIRST
LIMIT $programs
