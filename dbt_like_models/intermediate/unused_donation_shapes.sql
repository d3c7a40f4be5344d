-- The shapes of the arguments of each warning about donations beside the dumps of its run: how many parameters of that shape
-- hold no output, and are not offered as far as a module text tells it.
-- grain: run_id, message_id, array_shape, dump_id
WITH shapes AS (
    SELECT run_id, message_id, array_shape, COUNT(*) AS argument_count
    FROM intermediate.unused_donations
    WHERE array_shape IS NOT NULL AND fault_text IS NULL
    GROUP BY run_id, message_id, array_shape
),

seen AS (
    SELECT run_id, dump_id, MAX(donations_id) AS donations_id
    FROM staging.observations
    GROUP BY run_id, dump_id
),

held AS (
    SELECT s.run_id, s.dump_id, p.array_shape, COUNT(*) AS parameter_count
    FROM seen AS s
    INNER JOIN intermediate.donatable_parameters AS p ON s.dump_id = p.dump_id
    LEFT JOIN staging.donations AS d
        ON s.donations_id = d.donations_id AND p.parameter_number = d.parameter_number
        AND p.parameter_shape_index = d.parameter_shape_index
    WHERE d.donations_id IS NULL
    GROUP BY s.run_id, s.dump_id, p.array_shape
)

SELECT
    s.run_id,  -- The run.
    s.message_id,  -- The warning.
    s.array_shape,  -- A shape in it.
    h.dump_id,  -- A dump of the run with parameters of that shape.
    CAST(s.argument_count AS BIGINT) AS argument_count,  -- Arguments of that shape in the warning.
    CAST(h.parameter_count AS BIGINT) AS parameter_count  -- Such parameters of the dump.
FROM shapes AS s
INNER JOIN held AS h ON s.run_id = h.run_id AND s.array_shape = h.array_shape
WHERE h.parameter_count >= s.argument_count
