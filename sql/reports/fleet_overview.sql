-- What the warehouse holds: one row of counts, the newest run, and when dumps were loaded last.
-- grain: one row
WITH newest AS (
    SELECT
        run_name,
        started_at,
        started_at_source,
        ROW_NUMBER() OVER (ORDER BY started_at DESC, natural_name DESC, run_id DESC) AS newness
    FROM staging.runs
)

SELECT
    (SELECT COUNT(*) FROM staging.runs) AS run_count,  -- Runs, with those of which every dump was refused.
    (SELECT COUNT(*) FROM staging.observations) AS dump_count,  -- Dumps seen, repeats counted each time.
    (SELECT COUNT(DISTINCT dump_id) FROM staging.observations) AS content_count,  -- Different contents among them.
    (SELECT COUNT(DISTINCT program_id) FROM staging.observations) AS program_count,  -- Programs.
    (SELECT COUNT(*) FROM raw.rejects WHERE state = 'open') AS reject_count,  -- Refused and not taken since.
    n.run_name AS newest_run_name,  -- The run that started last.
    n.started_at AS newest_started_at,  -- When it started (UTC).
    n.started_at_source AS newest_started_at_source,  -- Where that time comes from.
    (SELECT MAX(finished_at) FROM raw.loads) AS loaded_at  -- When the last load ended (UTC).
FROM (SELECT 1 AS one) AS always
LEFT JOIN newest AS n ON n.newness = 1
