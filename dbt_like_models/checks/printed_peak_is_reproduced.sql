-- The printed peak position follows from XLA's own formula (ComputePeakMemoryMoment, hlo_live_range.cc): each value
-- weighs as much as the whole result of its instruction, and is counted one position longer than it lives.
-- severity: warn
WITH weights AS (
    SELECT dump_id, instruction_id, MAX(result_bytes) AS result_bytes FROM staging.instruction_texts
    GROUP BY dump_id, instruction_id
),

changes AS (
    SELECT r.dump_id, r.start_position AS instant, w.result_bytes AS change_bytes
    FROM staging.live_ranges AS r
    LEFT JOIN weights AS w ON r.dump_id = w.dump_id AND r.instruction_id = w.instruction_id
    UNION ALL
    SELECT r.dump_id, r.end_position + 2, -w.result_bytes
    FROM staging.live_ranges AS r
    LEFT JOIN weights AS w ON r.dump_id = w.dump_id AND r.instruction_id = w.instruction_id
),

timeline AS (
    SELECT
        dump_id,
        instant,
        SUM(SUM(change_bytes)) OVER (PARTITION BY dump_id ORDER BY instant) AS weighed_bytes,
        -- A value whose instruction has no text has no weight, and its dump no answer.
        SUM(COUNT(*) - COUNT(change_bytes)) OVER (PARTITION BY dump_id) AS unknown_count
    FROM changes
    GROUP BY dump_id, instant
),

ranked AS (
    SELECT
        dump_id,
        instant,
        ROW_NUMBER() OVER (PARTITION BY dump_id ORDER BY weighed_bytes DESC, instant ASC) AS height
    FROM timeline
    WHERE unknown_count = 0
)

SELECT
    d.dump_id,  -- The dump.
    'Live ranges at ' || CAST(r.instant AS VARCHAR) || ' (peak)' AS expected,  -- What the formula gives.
    'Live ranges at ' || CAST(d.reported_peak_position AS VARCHAR) || ' (peak)' AS found  -- What is printed.
FROM staging.dumps AS d
INNER JOIN ranked AS r ON d.dump_id = r.dump_id AND r.height = 1
WHERE d.reported_peak_position <> r.instant
