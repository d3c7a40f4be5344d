-- Operands of instructions without a text, such as get-tuple-element, bitcast, copy-done and call; in dialects before
-- 2021-09 of all instructions. A candidate is each earlier instruction at which all values appear that the user reads as
-- this operand, in that part of its result. Several candidates hold the same bytes, and the dump does not say which it is.
-- grain: dump_id, instruction_id, operand_number, operand_instruction_id
WITH unnamed_uses AS (
    SELECT
        u.dump_id,
        u.value_id,
        u.instruction_id,
        u.operand_number,
        u.operand_shape_index,
        u.schedule_position,
        COUNT(*) OVER (PARTITION BY u.dump_id, u.instruction_id, u.operand_number) AS use_count
    FROM staging.uses AS u
    LEFT JOIN staging.instruction_results AS t ON u.dump_id = t.dump_id AND u.instruction_id = t.instruction_id
    WHERE t.instruction_id IS NULL
),

placed AS (
    SELECT
        p.dump_id,
        p.value_id,
        p.instruction_id,
        p.shape_index,
        i.schedule_position
    FROM staging.positions AS p
    INNER JOIN staging.instructions AS i ON p.dump_id = i.dump_id AND p.instruction_id = i.instruction_id
)

SELECT
    u.dump_id,  -- The dump.
    u.instruction_id,  -- The user.
    u.operand_number,  -- Which of its operands, from 0.
    p.instruction_id AS operand_instruction_id  -- An instruction that may be the operand.
FROM unnamed_uses AS u
INNER JOIN placed AS p ON u.dump_id = p.dump_id AND u.value_id = p.value_id
WHERE
    -- Uses and positions both print an index if the shape of the operand is a tuple.
    COALESCE(u.operand_shape_index, '') = COALESCE(p.shape_index, '')
    AND u.instruction_id <> p.instruction_id
    AND (u.schedule_position IS NULL OR p.schedule_position IS NULL OR p.schedule_position < u.schedule_position)
GROUP BY u.dump_id, u.instruction_id, u.operand_number, u.use_count, p.instruction_id
HAVING COUNT(*) = u.use_count
