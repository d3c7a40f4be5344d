-- The dumps that have what a message names: its instruction, or that of the first allocation it lists; and a value of its
-- shape. Of one that names neither nothing is known.
-- grain: run_id, message_id, dump_id
WITH asked AS (
    SELECT
        c.run_id,
        c.message_id,
        c.dump_id,
        COALESCE(c.instruction_name, l.instruction_name) AS instruction_name,
        CASE  -- T5 names the shape of a window of a kernel in VMEM and SMEM, which is no value.
            WHEN c.dialect <> 'T5' OR c.memory_space_name = 'hbm' THEN NULLIF(split_part(c.shape_text, '{', 1), '')
        END AS shape_text
    FROM intermediate.oom_candidates AS c
    LEFT JOIN staging.oom_allocations AS l
        ON c.run_id = l.run_id AND c.relative_path = l.relative_path AND c.message_number = l.message_number
        AND l.ordinal = 0
)

SELECT DISTINCT
    a.run_id,  -- The run.
    a.message_id,  -- The message.
    a.dump_id  -- A dump that has what it names.
FROM asked AS a
INNER JOIN staging.hlo_values AS v
    ON a.dump_id = v.dump_id
    AND (a.instruction_name IS NULL OR v.instruction_name = a.instruction_name)
    AND (a.shape_text IS NULL OR starts_with(v.shape_text, a.shape_text))
WHERE a.instruction_name IS NOT NULL OR a.shape_text IS NOT NULL
