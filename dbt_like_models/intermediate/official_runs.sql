-- By which rules the figures of `compiled.memory_analysis()` are made of the dumps of a program in a run.
-- grain: run_id, program_id, compile_target, platform, track
SELECT
    o.run_id,  -- The run.
    o.program_id,  -- The program.
    o.compile_target,  -- cpu, tpu or a GPU architecture.
    o.platform,  -- cpu, gpu or tpu.
    r.track,  -- Label that tells series apart.
    r.device_kind,  -- Device the run compiled for; null where nobody said.
    r.run_name,  -- Its name.
    r.started_at,  -- When the run started (UTC).
    r.natural_name,  -- Its name as it is sorted.
    COALESCE(MAX(c.sizes_rule), 'unknown') AS sizes_rule,  -- Rule of argument, output and alias.
    COALESCE(MAX(c.temp_rule), 'unknown') AS temp_rule,  -- Rule of temp.
    COALESCE(MAX(c.peak_rule), 'unknown') AS peak_rule  -- Rule of peak.
FROM staging.observations AS o
INNER JOIN staging.runs AS r ON o.run_id = r.run_id
LEFT JOIN intermediate.official_compilers AS c ON o.run_id = c.run_id AND o.relative_path = c.relative_path
GROUP BY
    o.run_id, o.program_id, o.compile_target, o.platform, r.track, r.device_kind, r.run_name, r.started_at,
    r.natural_name
