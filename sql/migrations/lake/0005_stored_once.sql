-- The first position of a value is the value itself, and instructions know their line of the schedule: neither is stored
-- again. raw.positions and raw.schedule are views from now on.

-- A dump that says otherwise would be lost: then the warehouse stays as it is.
SELECT error(
    'the first position of value ' || p.value_id || ' in dump ' || p.dump_id || ' is not where the value is defined'
)
FROM raw.positions AS p
INNER JOIN raw.hlo_values AS v ON p.dump_id = v.dump_id AND p.value_id = v.value_id
WHERE
    p.ordinal = 0
    AND (p.instruction_id <> v.instruction_id OR p.shape_index IS DISTINCT FROM v.shape_index);

INSERT INTO raw.further_positions
SELECT dump_id, value_id, ordinal, instruction_id, shape_index
FROM raw.positions
WHERE ordinal > 0;

DROP TABLE raw.positions;
DROP TABLE raw.schedule;
