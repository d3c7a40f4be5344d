-- The cumulative column of the peak lines is their running sum (HloLiveRange::ToString, since jaxlib 0.6.1).
-- severity: error
WITH summed AS (
    SELECT
        dump_id,
        ordinal,
        cumulative_bytes,
        SUM(listed_bytes) OVER (PARTITION BY dump_id ORDER BY ordinal) AS running_bytes
    FROM staging.peak_buffers
)

SELECT
    dump_id,  -- The offending dump.
    CAST(running_bytes AS VARCHAR) AS expected,  -- The sum of the lines so far.
    CAST(cumulative_bytes AS VARCHAR) || ' in peak line ' || CAST(ordinal AS VARCHAR) AS found  -- What is printed.
FROM summed
WHERE cumulative_bytes <> running_bytes
