-- All values of one instruction show the same text (HloValue::ToString prints the defining HloInstruction::ToString).
-- severity: warn
WITH shown AS (
    SELECT DISTINCT dump_id, instruction_id, instruction_text_id FROM raw.hlo_values
    WHERE instruction_text_id IS NOT NULL
),

differing AS (
    SELECT dump_id, instruction_id, COUNT(*) AS text_count FROM shown
    GROUP BY dump_id, instruction_id
    HAVING COUNT(*) > 1
)

SELECT
    x.dump_id,  -- The dump.
    'one text of ' || i.instruction_name AS expected,  -- The instruction.
    CAST(x.text_count AS VARCHAR) || ' texts' AS found  -- How many it has.
FROM differing AS x
INNER JOIN raw.instructions AS i ON x.dump_id = i.dump_id AND x.instruction_id = i.instruction_id
