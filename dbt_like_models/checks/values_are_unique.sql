-- An instruction and a shape index define one value at most (HloDataflowAnalysis::GetUniqueValueAt).
-- severity: warn
WITH repeated AS (
    SELECT dump_id, instruction_id, COALESCE(shape_index, '{}') AS shape_index, COUNT(*) AS value_count
    FROM raw.hlo_values
    GROUP BY dump_id, instruction_id, COALESCE(shape_index, '{}')
    HAVING COUNT(*) > 1
)

SELECT
    r.dump_id,  -- The dump.
    'one value ' || i.instruction_name || r.shape_index AS expected,  -- Instruction and shape index.
    CAST(r.value_count AS VARCHAR) || ' values' AS found  -- How many there are.
FROM repeated AS r
INNER JOIN raw.instructions AS i ON r.dump_id = i.dump_id AND r.instruction_id = i.instruction_id
