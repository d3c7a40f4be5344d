-- All series of the warehouse, run by run: what the addresses, histories and movers of a site are made of.
-- grain: run_id, program_id, compile_target, platform, track, device_kind, memory_space
SELECT
    program_id,  -- The program.
    program_name,  -- Its name: the function.
    compile_target,  -- cpu, tpu or a GPU architecture.
    platform,  -- cpu, gpu or tpu; null where nobody said.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    run_id,  -- The run.
    run_number,  -- Place of the run in its series, from 1.
    dump_id,  -- The dump that stands for the run: the largest of the program.
    variant_count,  -- Different dumps of the program in the run.
    dump_count,  -- Files of the program in the run.
    reserved_bytes,  -- Reserved bytes, without thread-local ones.
    reserved_change_bytes,  -- Change against the previous run of the series; null in its first run.
    occupied_peak_bytes,  -- Occupied peak; null without live ranges.
    layout_padding_bytes  -- Layout padding alive at the occupied peak.
FROM marts.memory_space_trend_v2
ORDER BY program_name, program_id, platform, compile_target, track, device_kind, memory_space, run_number
