-- Peak lines with a cumulative column are sorted by bytes, descending, then by name and index, as numbers; those without
-- (before jaxlib 0.6.1) are in the order of the live ranges (HloLiveRange::ToString).
-- severity: warn
WITH lines AS (
    SELECT
        p.dump_id,
        d.peak_form,
        p.instruction_name,
        p.shape_index,
        p.listed_bytes,
        r.ordinal AS range_ordinal,
        LAG(p.instruction_name) OVER lines_before AS previous_name,
        LAG(p.shape_index) OVER lines_before AS previous_index,
        LAG(p.listed_bytes) OVER lines_before AS previous_bytes,
        LAG(r.ordinal) OVER lines_before AS previous_range_ordinal
    FROM staging.peak_buffers AS p
    INNER JOIN raw.dumps AS d ON p.dump_id = d.dump_id
    INNER JOIN raw.live_ranges AS r
        ON p.dump_id = r.dump_id AND p.instruction_id = r.instruction_id AND p.shape_index = r.shape_index
    WINDOW lines_before AS (PARTITION BY p.dump_id ORDER BY p.ordinal)
)

SELECT
    dump_id,  -- The dump.
    'a peak line that belongs behind ' || previous_name || previous_index || ': ' || CAST(previous_bytes AS VARCHAR)
        AS expected,  -- The line before it.
    instruction_name || shape_index || ': ' || CAST(listed_bytes AS VARCHAR) AS found  -- The line that stands there.
FROM lines
WHERE
    CASE
        WHEN peak_form <> 'cumulative' THEN range_ordinal < previous_range_ordinal
        WHEN listed_bytes <> previous_bytes THEN listed_bytes > previous_bytes
        WHEN instruction_name <> previous_name THEN instruction_name < previous_name
        ELSE
            TRY_CAST('[' || TRIM(shape_index, '{}') || ']' AS BIGINT [])
            < TRY_CAST('[' || TRIM(previous_index, '{}') || ']' AS BIGINT [])
    END
