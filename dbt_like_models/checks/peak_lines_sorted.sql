-- Peak lines with a cumulative column stand by bytes, descending, then by name and index, as numbers; those without
-- (before jaxlib 0.6.1) in the order of the live ranges (HloLiveRange::ToString).
-- severity: warn
WITH lines AS (
    SELECT
        p.dump_id,
        d.peak_form,
        p.instruction_name || p.shape_index || ': ' || CAST(p.listed_bytes AS VARCHAR) AS line,
        LAG(p.instruction_name || p.shape_index || ': ' || CAST(p.listed_bytes AS VARCHAR)) OVER lines_before
            AS previous_line,
        r.ordinal - LAG(r.ordinal) OVER lines_before AS range_step,
        LAG(p.listed_bytes) OVER lines_before - p.listed_bytes AS fewer_bytes,
        p.instruction_name,
        LAG(p.instruction_name) OVER lines_before AS previous_name,
        TRY_CAST('[' || TRIM(p.shape_index, '{}') || ']' AS BIGINT []) AS shape_index,
        LAG(TRY_CAST('[' || TRIM(p.shape_index, '{}') || ']' AS BIGINT [])) OVER lines_before AS previous_shape_index
    FROM staging.peak_buffers AS p
    INNER JOIN raw.dumps AS d ON p.dump_id = d.dump_id
    INNER JOIN raw.live_ranges AS r
        ON p.dump_id = r.dump_id AND p.instruction_id = r.instruction_id AND p.shape_index = r.shape_index
    WINDOW lines_before AS (PARTITION BY p.dump_id ORDER BY p.ordinal)
)

SELECT
    dump_id,  -- The dump.
    'a peak line that belongs behind ' || previous_line AS expected,  -- The line before it.
    line AS found  -- The line that stands there.
FROM lines
WHERE
    CASE
        WHEN peak_form <> 'cumulative' THEN range_step < 0
        WHEN fewer_bytes <> 0 THEN fewer_bytes < 0
        WHEN instruction_name <> previous_name THEN instruction_name < previous_name
        ELSE shape_index < previous_shape_index
    END
