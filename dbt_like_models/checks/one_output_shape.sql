-- One allocation, that of the entry computation's root, shows the output shape (BufferAllocation::ToString). Headers
-- have shown shapes since 2019-12; a dump is known to be of that time or later by any part that was added then or later.
-- severity: warn
WITH counted AS (
    SELECT dump_id, COUNT(output_shape_id) AS output_count, COUNT(parameter_shape_id) AS parameter_count
    FROM raw.allocations
    GROUP BY dump_id
)

SELECT
    d.dump_id,  -- The dump.
    'one output shape' AS expected,  -- What the headers should show.
    CAST(COALESCE(c.output_count, 0) AS VARCHAR) || ' output shapes' AS found  -- What they show.
FROM raw.dumps AS d
LEFT JOIN counted AS c ON d.dump_id = c.dump_id
WHERE
    COALESCE(c.output_count, 0) <> 1
    AND (d.live_range_state <> 'absent' OR d.has_instruction_texts OR c.parameter_count > 0 OR c.output_count > 0)
