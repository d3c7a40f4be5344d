-- Every position and every use belongs to a value of its dump. The first position of a value is the value itself.
-- severity: error
WITH strays AS (
    SELECT p.dump_id, p.value_id, p.instruction_id, 'a position in ' AS what
    FROM raw.further_positions AS p
    WHERE NOT EXISTS (SELECT 1 FROM raw.hlo_values AS v WHERE p.dump_id = v.dump_id AND p.value_id = v.value_id)
    UNION ALL
    SELECT u.dump_id, u.value_id, u.instruction_id, 'a use by ' AS what
    FROM raw.uses AS u
    WHERE NOT EXISTS (SELECT 1 FROM raw.hlo_values AS v WHERE u.dump_id = v.dump_id AND u.value_id = v.value_id)
)

SELECT
    s.dump_id,  -- The offending dump.
    'a value ' || CAST(s.value_id AS VARCHAR) AS expected,  -- The value that is missing.
    s.what || i.instruction_name AS found  -- The row that points at it.
FROM strays AS s
INNER JOIN raw.instructions AS i ON s.dump_id = i.dump_id AND s.instruction_id = i.instruction_id
