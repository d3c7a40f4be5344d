-- The module's graph: operands of instructions. The text of an instruction names its operands; it is printed for each
-- that defines a value. One without a text (get-tuple-element, bitcast, copy-done, call, and all in dialects before
-- 2021-09) hands on or reads what the uses of values say: the operand is then an instruction at which each of these
-- values appears in that part of its result, and which runs earlier. Where several are left, which hold the same bytes, the dump does not tell.
-- grain: dump_id, instruction_id, operand_number
WITH named AS (
    SELECT
        dump_id,
        instruction_id,
        UNNEST(RANGE(ARRAY_LENGTH(operand_instruction_ids))) AS operand_number,
        UNNEST(operand_instruction_ids) AS operand_instruction_id
    FROM staging.instruction_texts
),

unnamed_uses AS (
    SELECT
        u.dump_id,
        u.value_id,
        u.instruction_id,
        u.operand_number,
        u.operand_shape_index,
        u.schedule_position,
        COUNT(*) OVER (PARTITION BY u.dump_id, u.instruction_id, u.operand_number) AS use_count
    FROM staging.uses AS u
    LEFT JOIN staging.instruction_texts AS t ON u.dump_id = t.dump_id AND u.instruction_id = t.instruction_id
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
),

holders AS (
    SELECT
        u.dump_id,
        u.instruction_id,
        u.operand_number,
        p.instruction_id AS operand_instruction_id
    FROM unnamed_uses AS u
    LEFT JOIN placed AS p
        ON
            u.dump_id = p.dump_id
            AND u.value_id = p.value_id
            -- Uses and positions both print an index where the shape of the operand is a tuple.
            AND COALESCE(u.operand_shape_index, '') = COALESCE(p.shape_index, '')
            AND u.instruction_id <> p.instruction_id
            AND (u.schedule_position IS NULL OR p.schedule_position IS NULL OR p.schedule_position < u.schedule_position)
    GROUP BY u.dump_id, u.instruction_id, u.operand_number, u.use_count, p.instruction_id
    HAVING COUNT(*) = u.use_count
)

SELECT
    dump_id,  -- The dump.
    instruction_id,  -- The user.
    operand_number,  -- Which of its operands, from 0.
    operand_instruction_id  -- The operand; null where several instructions may be it.
FROM named
UNION ALL
SELECT
    dump_id,
    instruction_id,
    operand_number,
    CASE WHEN COUNT(*) = 1 THEN MIN(operand_instruction_id) END AS operand_instruction_id
FROM holders
GROUP BY dump_id, instruction_id, operand_number
