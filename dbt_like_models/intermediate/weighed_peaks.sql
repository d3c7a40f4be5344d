-- The moment that XLA prints as `(peak)`, computed by its own formula (ComputePeakMemoryMoment, hlo_live_range.cc): each
-- value weighs as much as the whole result of its instruction, and is counted one position longer than it lives.
-- grain: dump_id
WITH weights AS (
    SELECT dump_id, instruction_id, MAX(result_bytes) AS result_bytes
    FROM staging.instruction_results
    GROUP BY dump_id, instruction_id
),

weighed AS (
    SELECT r.dump_id, r.start_position, r.end_position, w.result_bytes
    FROM staging.live_ranges AS r
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
),

alive AS (
    SELECT w.dump_id, SUM(w.result_bytes) AS alive_bytes
    FROM weighed AS w
    INNER JOIN peaks AS p ON w.dump_id = p.dump_id
    WHERE p.instant BETWEEN w.start_position AND w.end_position
    GROUP BY w.dump_id
)

SELECT
    p.dump_id,  -- The dump.
    p.instant AS weighed_peak_position,  -- First position at which most is weighed.
    CAST(COALESCE(a.alive_bytes, 0) AS BIGINT) AS weighed_bytes  -- Results of the instructions of all values alive there.
FROM peaks AS p
LEFT JOIN alive AS a ON p.dump_id = a.dump_id
