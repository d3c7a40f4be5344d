-- The stack trace breakdown is of the bytes that the peak lines list (FormatStackTraceBreakdown, hlo_stack_trace.cc).
-- severity: warn
SELECT
    dump_id,  -- The dump.
    CAST(COALESCE(reported_peak_bytes, 0) AS VARCHAR) || ' bytes' AS expected,  -- The sum of the peak lines.
    REGEXP_EXTRACT(stack_trace, 'peak usage: ([0-9 ]+ bytes)', 1) AS found  -- What the head of the breakdown says.
FROM staging.dumps
WHERE
    stack_trace IS NOT NULL
    AND TRY_CAST(REPLACE(REGEXP_EXTRACT(stack_trace, 'peak usage: ([0-9 ]+) bytes', 1), ' ', '') AS BIGINT)
    IS DISTINCT FROM COALESCE(reported_peak_bytes, 0)
