-- How the memory of some programs moved from run to run: all of their series, the runs of each in order.
-- grain: program_id, run_id, compile_target, platform, track, device_kind, memory_space
-- parameters: program_ids
SELECT
    program_id,  -- The program.
    program_name,  -- Its name; a weak key.
    platform,  -- cpu, gpu or tpu; null where nobody said.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    compile_target,  -- cpu, tpu or a GPU architecture.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    run_number,  -- Place of the run in its series, from 1.
    run_id,  -- The run.
    run_name,  -- Its name.
    started_at,  -- When it started (UTC).
    compiler,  -- What embeds XLA.
    compiler_version,  -- Version of the compiler.
    dump_id,  -- The dump that stands for the run: the largest.
    dump_count,  -- Files of the program in the run.
    variant_count,  -- Different contents among them.
    reserved_bytes,  -- Reserved bytes, without thread-local ones.
    reserved_change_bytes,  -- Change against the previous run of the series; null in its first run.
    occupied_peak_bytes,  -- Occupied peak; null without live ranges.
    layout_padding_bytes  -- Layout padding alive at the occupied peak.
FROM marts.memory_space_trend_v2
WHERE program_id IN ($program_ids)
ORDER BY
    platform ASC NULLS LAST,
    track ASC NULLS FIRST,
    device_kind ASC NULLS FIRST,
    compile_target ASC NULLS FIRST,
    memory_space ASC,
    run_number ASC
