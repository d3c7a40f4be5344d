-- A peak line shows the logical bytes of its value, since jaxlib 0.6.0 (before: of its whole instruction).
-- severity: warn
SELECT
    p.dump_id,  -- The dump.
    CAST(v.logical_bytes AS VARCHAR) || ' bytes' AS expected,  -- Logical bytes of the value.
    p.instruction_name || p.shape_index || ': ' || CAST(p.listed_bytes AS VARCHAR) AS found  -- The peak line.
FROM staging.peak_buffers AS p
INNER JOIN staging.contents AS d ON p.dump_id = d.dump_id
INNER JOIN staging.value_slots AS v
    ON
        p.dump_id = v.dump_id
        AND p.instruction_id = v.instruction_id
        AND p.shape_index = COALESCE(v.shape_index, '{}')
WHERE d.peak_form IN ('indexed', 'cumulative') AND v.logical_bytes <> p.listed_bytes
