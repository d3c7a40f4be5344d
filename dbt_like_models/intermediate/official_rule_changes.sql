-- Where the figures of `compiled.memory_analysis()` mean something else than in the run before of a series: twice, for
-- series of all devices together and for those of one device.
-- grain: run_id, program_id, compile_target, platform, track, is_of_device
WITH in_series AS (
    SELECT *, FALSE AS is_of_device, NULL AS series_device FROM intermediate.official_runs
    UNION ALL
    SELECT *, TRUE AS is_of_device, device_kind AS series_device FROM intermediate.official_runs
),

compared AS (
    SELECT
        *,
        LAG(run_name) OVER series AS previous_run_name,
        LAG(sizes_rule) OVER series AS previous_sizes_rule,
        LAG(temp_rule) OVER series AS previous_temp_rule,
        LAG(peak_rule) OVER series AS previous_peak_rule
    FROM in_series
    WINDOW series AS (
        PARTITION BY program_id, compile_target, platform, track, is_of_device, series_device
        ORDER BY started_at, natural_name, run_id
    )
)

SELECT
    run_id,  -- The run.
    program_id,  -- The program.
    compile_target,  -- cpu, tpu or a GPU architecture.
    platform,  -- cpu, gpu or tpu.
    track,  -- Label that tells series apart.
    is_of_device,  -- Whether the series is of one device, that of the run.
    previous_run_name,  -- The run before in the series.
    NULLIF(concat_ws(
        '; ',
        CASE
            WHEN sizes_rule <> previous_sizes_rule
            THEN 'argument, output, alias: was ' || previous_sizes_rule || ', is ' || sizes_rule
        END,
        CASE
            WHEN temp_rule <> previous_temp_rule
            THEN 'temp: was ' || previous_temp_rule || ', is ' || temp_rule
        END,
        CASE
            WHEN peak_rule <> previous_peak_rule
            THEN 'peak: was ' || previous_peak_rule || ', is ' || peak_rule
        END
    ), '') AS changed_meaning  -- Figures made by another rule than before, with both rules; null without.
FROM compared
