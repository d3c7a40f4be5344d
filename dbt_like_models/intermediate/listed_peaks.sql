-- The highest point of the listed timeline over all memory spaces, and the height at the position XLA prints.
-- grain: dump_id
-- materialized: incremental by dump_id
WITH summed AS (
    SELECT
        dump_id,
        position_in_schedule,
        SUM(listed_change_bytes) AS change_bytes
    FROM intermediate.space_changes
    GROUP BY dump_id, position_in_schedule
),

timeline AS (
    SELECT
        dump_id,
        position_in_schedule,
        SUM(change_bytes) OVER (PARTITION BY dump_id ORDER BY position_in_schedule) AS alive_bytes
    FROM summed
),

ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY dump_id ORDER BY alive_bytes DESC, position_in_schedule ASC) AS height
    FROM timeline
),

at_reported AS (
    SELECT
        s.dump_id,
        SUM(COALESCE(s.logical_bytes, 0)) AS alive_bytes
    FROM intermediate.slots AS s
    INNER JOIN staging.dumps AS d ON s.dump_id = d.dump_id
    WHERE d.reported_peak_position BETWEEN s.start_position AND s.end_position
    GROUP BY s.dump_id
)

SELECT
    r.dump_id,  -- The dump.
    CAST(r.alive_bytes AS BIGINT) AS listed_peak_bytes,  -- Most listed bytes over all memory spaces.
    CASE WHEN r.alive_bytes > 0 THEN r.position_in_schedule END AS listed_peak_position,  -- First position of that.
    CAST(a.alive_bytes AS BIGINT) AS listed_at_reported_peak_bytes  -- Listed bytes where XLA prints its peak.
FROM ranked AS r
LEFT JOIN at_reported AS a ON r.dump_id = a.dump_id
WHERE r.height = 1
