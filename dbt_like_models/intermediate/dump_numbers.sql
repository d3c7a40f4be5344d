-- The numbers that a dump prints itself, the total and the peak, beside what its bytes give. Their rules follow from the form of the
-- text, whatever compiler made it.
-- grain: run_id, relative_path, number_name
WITH totals AS (
    SELECT dump_id, CAST(SUM(size_bytes) AS BIGINT) AS allocated_bytes
    FROM staging.allocations
    GROUP BY dump_id
),

facts AS (
    SELECT
        o.run_id,
        o.relative_path,
        o.dump_id,
        d.file_layout = 'proto' AS is_proto,
        d.live_range_state,
        d.peak_form,
        d.total_bytes,
        d.reported_peak_position,
        d.reported_peak_bytes,
        COALESCE(t.allocated_bytes, 0) AS allocated_bytes,
        w.weighed_peak_position,
        CASE
            WHEN d.peak_form = 'name' THEN w.weighed_bytes
            WHEN d.peak_form IN ('indexed', 'cumulative') AND w.weighed_peak_position = d.reported_peak_position
                THEN COALESCE(l.listed_at_reported_peak_bytes, 0)
        END AS peak_bytes
    FROM staging.observations AS o
    INNER JOIN staging.dumps AS d ON o.dump_id = d.dump_id
    LEFT JOIN totals AS t ON o.dump_id = t.dump_id
    LEFT JOIN intermediate.weighed_peaks AS w ON o.dump_id = w.dump_id
    LEFT JOIN intermediate.listed_peaks AS l ON o.dump_id = l.dump_id
)

SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    CAST(20 AS BIGINT) AS number_order,  -- Its place among the numbers.
    'the dump' AS said_by,  -- Who says it.
    'Total bytes used' AS number_name,  -- What it is called there.
    'all_allocations' AS rule,  -- The rule that it follows.
    'XLA of October 2019' AS since_text,  -- First version that is known to follow it.
    TRUE AS is_compared,  -- Whether the rule was compared with what compilers print.
    allocated_bytes AS computed_bytes,  -- What the rule gives.
    NULL AS computed_position,  -- Position in the schedule that it gives.
    CASE WHEN NOT is_proto THEN total_bytes END AS printed_bytes,  -- What is printed.
    NULL AS printed_position,  -- Position in the schedule that is printed.
    CASE
        WHEN is_proto OR total_bytes IS NULL THEN 'not stored'
        WHEN total_bytes = allocated_bytes THEN 'agrees'
        ELSE 'differs'
    END AS verdict,  -- Whether it is what the bytes give.
    CASE
        WHEN is_proto THEN 'the dump is a proto, which prints nothing'
        WHEN total_bytes IS NULL THEN 'the dump does not print it'
    END AS why_text  -- Why nothing stands against it.
FROM facts
UNION ALL
SELECT
    run_id,
    relative_path,
    dump_id,
    21 AS number_order,
    'the dump' AS said_by,
    '(peak)' AS number_name,
    CASE
        WHEN reported_peak_position IS NULL THEN 'not_printed'
        WHEN peak_form = 'name' THEN 'instructions_at_moment'
        ELSE 'values_at_moment'
    END AS rule,
    CASE WHEN peak_form = 'name' THEN 'XLA of April 2021' WHEN peak_form IS NOT NULL THEN 'XLA of April 2025' END AS since_text,
    reported_peak_position IS NOT NULL AS is_compared,
    CASE WHEN reported_peak_position IS NOT NULL THEN peak_bytes END AS computed_bytes,
    CASE WHEN reported_peak_position IS NOT NULL THEN weighed_peak_position END AS computed_position,
    CASE WHEN reported_peak_position IS NOT NULL THEN reported_peak_bytes END AS printed_bytes,
    reported_peak_position AS printed_position,
    CASE
        WHEN reported_peak_position IS NULL THEN 'not reported'
        WHEN weighed_peak_position IS NULL OR peak_form IS NULL THEN 'not in the dump'
        WHEN weighed_peak_position = reported_peak_position AND peak_bytes = reported_peak_bytes THEN 'agrees'
        ELSE 'differs'
    END AS verdict,
    CASE
        WHEN is_proto THEN 'the dump is a proto, which prints nothing'
        WHEN reported_peak_position IS NULL THEN 'the dump prints no peak'
        WHEN peak_form IS NULL THEN 'the dump lists no value at its peak'
        WHEN weighed_peak_position IS NULL THEN 'the dump does not print the results of all instructions'
    END AS why_text
FROM facts
