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

highest AS (
    SELECT dump_id, MAX(alive_bytes) AS alive_bytes FROM timeline
    GROUP BY dump_id
),

peaks AS (
    SELECT t.dump_id, t.alive_bytes, MIN(t.position_in_schedule) AS position_in_schedule
    FROM timeline AS t
    INNER JOIN highest AS h ON t.dump_id = h.dump_id AND t.alive_bytes = h.alive_bytes
    GROUP BY t.dump_id, t.alive_bytes
),

at_reported AS (
    SELECT
        s.dump_id,
        SUM(COALESCE(s.logical_bytes, 0)) AS alive_bytes
    FROM intermediate.slots AS s
    INNER JOIN staging.contents AS d ON s.dump_id = d.dump_id
    WHERE d.reported_peak_position BETWEEN s.start_position AND s.end_position
    GROUP BY s.dump_id
)

SELECT
    p.dump_id,  -- The dump.
    CAST(p.alive_bytes AS BIGINT) AS listed_peak_bytes,  -- Most listed bytes over all memory spaces.
    CASE WHEN p.alive_bytes > 0 THEN p.position_in_schedule END AS listed_peak_position,  -- First position of that.
    CAST(a.alive_bytes AS BIGINT) AS listed_at_reported_peak_bytes  -- Listed bytes where XLA prints its peak.
FROM peaks AS p
LEFT JOIN at_reported AS a ON p.dump_id = a.dump_id
