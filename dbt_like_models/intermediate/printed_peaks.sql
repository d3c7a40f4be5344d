-- The peak that a dump prints, moment and bytes, beside the one by XLA's own formula.
-- grain: run_id, relative_path, number_name
SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    CAST(21 AS BIGINT) AS number_order,  -- Its place among the numbers.
    'the dump' AS said_by,  -- Who says it.
    '(peak)' AS number_name,  -- What it is called there.
    CASE
        WHEN reported_peak_position IS NULL THEN 'not_printed'
        WHEN peak_form = 'name' THEN 'instructions_at_moment'
        ELSE 'values_at_moment'
    END AS rule,  -- The rule that it follows.
    CASE
        WHEN peak_form = 'name' THEN 'XLA of April 2021'
        WHEN peak_form IS NOT NULL THEN 'XLA of April 2025'
    END AS since_text,  -- First version that is known to follow it.
    reported_peak_position IS NOT NULL AS is_compared,  -- Whether the rule was compared with what compilers print.
    CASE WHEN reported_peak_position IS NOT NULL THEN peak_bytes END AS computed_bytes,  -- What the rule gives.
    CASE
        WHEN reported_peak_position IS NOT NULL THEN weighed_peak_position
    END AS computed_position,  -- Moment that it gives.
    CASE WHEN reported_peak_position IS NOT NULL THEN reported_peak_bytes END AS printed_bytes,  -- What is printed.
    reported_peak_position AS printed_position,  -- Moment that is printed.
    CASE
        WHEN reported_peak_position IS NULL THEN 'not reported'
        WHEN weighed_peak_position IS NULL OR peak_form IS NULL THEN 'not in the dump'
        WHEN weighed_peak_position = reported_peak_position AND peak_bytes = reported_peak_bytes THEN 'agrees'
        ELSE 'differs'
    END AS verdict,  -- Whether it is what the bytes give.
    CASE
        WHEN is_proto THEN 'the dump is a proto, which prints nothing'
        WHEN reported_peak_position IS NULL THEN 'the dump prints no peak'
        WHEN peak_form IS NULL THEN 'the dump lists no value at its peak'
        WHEN weighed_peak_position IS NULL THEN 'the dump does not print the results of all instructions'
    END AS why_text  -- Why nothing stands against it.
FROM intermediate.printed_facts
