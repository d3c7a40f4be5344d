-- Where values appear, with instruction names.
-- grain: dump_id, value_id, ordinal
SELECT
    p.dump_id,  -- The dump.
    p.value_id,  -- The value.
    p.ordinal,  -- Line of the list; 0 is the definition.
    p.instruction_id,  -- Instruction it appears in.
    i.instruction_name,  -- Its name.
    p.shape_index  -- Which part of the instruction's result; null = not printed.
FROM raw.positions AS p
INNER JOIN raw.instructions AS i ON p.dump_id = i.dump_id AND p.instruction_id = i.instruction_id
