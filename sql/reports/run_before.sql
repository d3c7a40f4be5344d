-- The run before a run: the newest one before it with the same platform, track and device that has dumps; no row without one.
-- grain: one row
-- parameters: run_id
WITH ordered AS (
    SELECT
        run_id,
        LAG(run_id) OVER earlier AS before_run_id,
        LAG(run_name) OVER earlier AS before_run_name
    FROM marts.runs_v2
    WHERE dump_count > 0 OR run_id = $run_id
    WINDOW earlier AS (PARTITION BY platform, track, device_kind ORDER BY run_order ASC)
)

SELECT
    before_run_id,  -- The run before.
    before_run_name  -- Its name.
FROM ordered
WHERE run_id = $run_id AND before_run_id IS NOT NULL
