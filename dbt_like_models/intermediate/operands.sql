-- The module's graph: operands of instructions. The text of an instruction names its operands; it is printed for each
-- that defines a value. Those of the others follow from the uses of values.
-- grain: dump_id, instruction_id, operand_number
WITH named AS (
    SELECT
        dump_id,
        instruction_id,
        UNNEST(RANGE(ARRAY_LENGTH(operand_instruction_ids))) AS operand_number,
        UNNEST(operand_instruction_ids) AS operand_instruction_id
    FROM staging.instruction_texts
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
FROM intermediate.operand_holders
GROUP BY dump_id, instruction_id, operand_number
