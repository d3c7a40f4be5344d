-- What instructions do and how large their results are, in numbers; names and texts are in staging.instruction_texts.
-- grain: dump_id, instruction_text_id
SELECT
    t.dump_id,  -- The dump.
    t.instruction_text_id,  -- Number of the text in its dump.
    t.instruction_id,  -- The instruction.
    t.opcode,  -- Operation, such as fusion or copy-start.
    s.logical_bytes AS result_bytes  -- Logical bytes of its result; 8 per element of a tuple.
FROM raw.instruction_texts AS t
LEFT JOIN raw.shapes AS s ON t.result_shape_id = s.shape_id
