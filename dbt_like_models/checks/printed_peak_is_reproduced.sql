-- The printed peak position follows from XLA's own formula (ComputePeakMemoryMoment, hlo_live_range.cc): each value
-- weighs as much as the whole result of its instruction, and is counted one position longer than it lives.
-- severity: warn
WITH weights AS (
    SELECT t.dump_id, t.instruction_id, MAX(s.logical_bytes) AS result_bytes
    FROM raw.instruction_texts AS t
    INNER JOIN raw.shapes AS s ON t.result_shape_id = s.shape_id
    GROUP BY t.dump_id, t.instruction_id
),

weighed AS (
    SELECT r.dump_id, r.start_position, r.end_position, w.result_bytes
    FROM raw.live_ranges AS r
    LEFT JOIN weights AS w ON r.dump_id = w.dump_id AND r.instruction_id = w.instruction_id
),

changes AS (
    SELECT dump_id, start_position AS instant, result_bytes AS change_bytes FROM weighed
    UNION ALL
    SELECT dump_id, end_position + 2, -result_bytes FROM weighed
),

timeline AS (
    SELECT
        dump_id,
        instant,
        SUM(SUM(change_bytes)) OVER (PARTITION BY dump_id ORDER BY instant) AS weighed_bytes,
        COUNT(*) - COUNT(change_bytes) AS unknown_count
    FROM changes
    GROUP BY dump_id, instant
),

highest AS (
    SELECT dump_id, MAX(weighed_bytes) AS weighed_bytes FROM timeline
    GROUP BY dump_id
    -- A value whose instruction has no text has no weight, and its dump no answer.
    HAVING SUM(unknown_count) = 0
),

peaks AS (
    SELECT t.dump_id, MIN(t.instant) AS instant
    FROM timeline AS t
    INNER JOIN highest AS h ON t.dump_id = h.dump_id AND t.weighed_bytes = h.weighed_bytes
    GROUP BY t.dump_id
)

SELECT
    d.dump_id,  -- The dump.
    'Live ranges at ' || CAST(p.instant AS VARCHAR) || ' (peak)' AS expected,  -- What the formula gives.
    'Live ranges at ' || CAST(d.reported_peak_position AS VARCHAR) || ' (peak)' AS found  -- What is printed.
FROM staging.dumps AS d
INNER JOIN peaks AS p ON d.dump_id = p.dump_id
WHERE d.reported_peak_position <> p.instant
