-- Every position and every use belongs to a value of its dump.
-- severity: error
SELECT
    p.dump_id,  -- The offending dump.
    'a value ' || CAST(p.value_id AS VARCHAR) AS expected,  -- The value that is missing.
    'a position in ' || p.instruction_name AS found  -- The row that points at it.
FROM staging.positions AS p
LEFT JOIN staging.hlo_values AS v ON p.dump_id = v.dump_id AND p.value_id = v.value_id
WHERE v.dump_id IS NULL
UNION ALL
SELECT
    u.dump_id,
    'a value ' || CAST(u.value_id AS VARCHAR) AS expected,
    'a use by ' || u.instruction_name AS found
FROM staging.uses AS u
LEFT JOIN staging.hlo_values AS v ON u.dump_id = v.dump_id AND u.value_id = v.value_id
WHERE v.dump_id IS NULL
