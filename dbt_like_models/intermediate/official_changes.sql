-- Where the figures of `compiled.memory_analysis()` mean something else than in the run before, for series of all devices
-- together.
-- grain: run_id, program_id, compile_target, platform, track
SELECT
    run_id,  -- The run.
    program_id,  -- The program.
    compile_target,  -- cpu, tpu or a GPU architecture.
    platform,  -- cpu, gpu or tpu.
    track,  -- Label that tells series apart.
    previous_run_name,  -- The run before in the series.
    changed_meaning  -- Figures made by another rule than before, with both rules; null without.
FROM intermediate.official_rule_changes
WHERE NOT is_of_device
