-- A run of a program over all its memory spaces; memory space 0 gives the figures.
-- grain: run_id, program_id, compile_target, platform, track
SELECT
    run_id,  -- The run.
    program_id,  -- The program.
    MAX(program_name) AS program_name,  -- Its name; a weak key.
    compile_target,  -- cpu, tpu or a GPU architecture.
    platform,  -- cpu, gpu or tpu.
    track,  -- Label that tells series apart.
    CAST(MAX(variant_count) AS BIGINT) AS variant_count,  -- Different dumps of the program in the run.
    CAST(MAX(dump_count) AS BIGINT) AS dump_count,  -- Files of the program in the run.
    CAST(COUNT(*) AS BIGINT) AS memory_space_count,  -- Memory spaces it uses.
    MAX(CASE WHEN memory_space = 0 THEN dump_id END) AS dump_id,  -- The dump that stands for the run in space 0.
    MAX(CASE WHEN memory_space = 0 THEN reserved_bytes END) AS reserved_bytes,  -- Reserved bytes of space 0.
    MAX(CASE WHEN memory_space = 0 THEN occupied_peak_bytes END) AS occupied_peak_bytes  -- Occupied peak of space 0.
FROM intermediate.series_runs
GROUP BY run_id, program_id, compile_target, platform, track
