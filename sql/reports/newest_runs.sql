-- The two newest runs of each platform, track and device that have dumps: what a nightly comparison compares.
-- grain: platform, track, device_kind
WITH ranked AS (
    SELECT
        platform,
        track,
        device_kind,
        run_id,
        run_name,
        run_order,
        LAG(run_id) OVER newest AS before_run_id,
        LAG(run_name) OVER newest AS before_run_name,
        ROW_NUMBER() OVER (PARTITION BY platform, track, device_kind ORDER BY run_order DESC) AS newness
    FROM marts.runs_v2
    WHERE dump_count > 0
    WINDOW newest AS (PARTITION BY platform, track, device_kind ORDER BY run_order ASC)
)

SELECT
    platform,  -- cpu, gpu or tpu, as the run, else its dumps say; null if unknown.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    before_run_id,  -- The run before the newest.
    before_run_name,  -- Its name.
    run_id AS after_run_id,  -- The newest run.
    run_name AS after_run_name  -- Its name.
FROM ranked
WHERE newness = 1 AND before_run_name IS NOT NULL
ORDER BY platform ASC NULLS LAST, track ASC NULLS FIRST, device_kind ASC NULLS FIRST
