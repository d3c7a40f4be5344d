-- What the warehouse holds: one row of counts, the newest run, and when dumps were loaded last.
-- grain: one row
WITH runs AS (
    SELECT
        COUNT(*) AS run_count,
        CAST(COALESCE(SUM(dump_count), 0) AS BIGINT) AS dump_count,
        CAST(COALESCE(SUM(reject_count), 0) AS BIGINT) AS reject_count,
        MAX(run_order) AS newest_run_order,
        MAX(loaded_at) AS loaded_at
    FROM marts.runs_v1
),

sightings AS (
    SELECT
        COUNT(DISTINCT dump_id) AS content_count,
        COUNT(DISTINCT program_id) AS program_count
    FROM marts.observations_v1
)

SELECT
    r.run_count,  -- Runs, with those of which every dump was refused.
    r.dump_count,  -- Dumps seen, repeats counted each time.
    s.content_count,  -- Different contents among them.
    s.program_count,  -- Programs.
    r.reject_count,  -- Refused and not taken since.
    n.run_name AS newest_run_name,  -- The run that started last.
    n.started_at AS newest_started_at,  -- When it started (UTC).
    n.started_at_source AS newest_started_at_source,  -- Where that time comes from.
    r.loaded_at  -- When the last load ended (UTC).
FROM runs AS r
CROSS JOIN sightings AS s
LEFT JOIN marts.runs_v1 AS n ON r.newest_run_order = n.run_order
