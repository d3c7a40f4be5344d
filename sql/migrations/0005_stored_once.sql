-- The first position of a value is the value itself, and instructions know their line of the schedule: neither is stored
-- again. raw.positions and raw.schedule are views from now on.

CREATE TABLE raw.further_positions (
    dump_id BIGINT NOT NULL,
    value_id BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    instruction_id BIGINT NOT NULL,
    shape_index VARCHAR
);

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

CREATE VIEW raw.positions AS
SELECT dump_id, value_id, CAST(0 AS BIGINT) AS ordinal, instruction_id, shape_index
FROM raw.hlo_values
WHERE uses_state IS NOT NULL
UNION ALL
SELECT dump_id, value_id, ordinal, instruction_id, shape_index
FROM raw.further_positions;

CREATE VIEW raw.schedule AS
SELECT dump_id, schedule_position, instruction_id
FROM raw.instructions
WHERE schedule_position IS NOT NULL;

COMMENT ON TABLE raw.further_positions IS 'Where a value appears besides its definition (HloPosition).';
COMMENT ON COLUMN raw.further_positions.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.further_positions.value_id IS 'Id of the HLO value in its dump (HloValue::id).';
COMMENT ON COLUMN raw.further_positions.ordinal IS 'Line of the list, from 1.';
COMMENT ON COLUMN raw.further_positions.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON COLUMN raw.further_positions.shape_index IS 'Which part of the instruction''s result; null = not printed.';
COMMENT ON VIEW raw.positions IS 'Where a value appears; the first position is its definition (HloPosition).';
COMMENT ON COLUMN raw.positions.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.positions.value_id IS 'Id of the HLO value in its dump (HloValue::id).';
COMMENT ON COLUMN raw.positions.ordinal IS 'Line of the list, from 0.';
COMMENT ON COLUMN raw.positions.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
COMMENT ON COLUMN raw.positions.shape_index IS 'Which part of the instruction''s result; null = not printed.';
COMMENT ON VIEW raw.schedule IS 'The order in which instructions run (InstructionSequence).';
COMMENT ON COLUMN raw.schedule.dump_id IS 'The dump: the first 63 bits of its SHA-256.';
COMMENT ON COLUMN raw.schedule.schedule_position IS 'Line of the schedule, from 0.';
COMMENT ON COLUMN raw.schedule.instruction_id IS 'The instruction, interned per dump in raw.instructions.';
