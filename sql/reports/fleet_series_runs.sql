-- The runs of every series, of which several statements of the fleet report are made: kept while it is asked.
-- grain: run_id, program_id, compile_target, platform, track, device_kind, memory_space
SELECT
    t.run_id,  -- The run.
    t.run_name,  -- Its name.
    r.run_order,  -- Its place among all runs, from 1.
    t.program_id,  -- The program.
    t.program_name,  -- Its name; a weak key.
    t.compile_target,  -- cpu, tpu or a GPU architecture.
    t.platform,  -- cpu, gpu or tpu; null where nobody said.
    t.track,  -- Label that tells series apart.
    t.device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    t.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    t.dump_id,  -- The dump that stands for the run: the largest of the program.
    t.run_number,  -- Place of the run in its series, from 1.
    t.reserved_bytes,  -- Reserved bytes, without thread-local ones.
    t.reserved_change_bytes,  -- Change against the previous run of the series; null in its first run.
    t.occupied_peak_bytes,  -- Occupied peak; null without live ranges.
    t.layout_padding_bytes  -- Layout padding alive at the occupied peak.
FROM marts.memory_space_trend_v2 AS t
INNER JOIN marts.runs_v1 AS r ON t.run_id = r.run_id
