-- The dumps that a message may be about, each with whether it has what the message names: its instruction, or that of the
-- first allocation it lists; and a value of its shape. For a message that names neither, this is unknown.
-- grain: run_id, message_id, dump_id
WITH asked AS (
    SELECT
        c.*,
        COALESCE(c.instruction_name, l.instruction_name) AS asked_name,
        CASE  -- T5 names the shape of a window of a kernel in VMEM and SMEM, which is no value.
            WHEN c.dialect <> 'T5' OR c.memory_space_name = 'hbm' THEN NULLIF(split_part(c.shape_text, '{', 1), '')
        END AS asked_shape
    FROM intermediate.oom_candidates AS c
    LEFT JOIN staging.oom_allocations AS l
        ON c.run_id = l.run_id AND c.relative_path = l.relative_path AND c.message_number = l.message_number
        AND l.ordinal = 0
),

named AS (
    SELECT DISTINCT
        a.run_id,
        a.message_id,
        a.dump_id
    FROM asked AS a
    INNER JOIN staging.hlo_values AS v
        ON a.dump_id = v.dump_id
        AND (a.asked_name IS NULL OR v.instruction_name = a.asked_name)
        AND (a.asked_shape IS NULL OR starts_with(v.shape_text, a.asked_shape))
    WHERE a.asked_name IS NOT NULL OR a.asked_shape IS NOT NULL
)

SELECT
    a.run_id,  -- The run.
    a.message_id,  -- The message.
    a.relative_path,  -- The first log that says it.
    a.message_number,  -- Its number there.
    a.dialect,  -- Its form.
    a.fault_text,  -- Why its figures are not relied on; null where they are.
    a.is_rounded_up,  -- Its allocation is printed rounded up to 256 bytes.
    a.dump_id,  -- A dump that it may be about.
    n.dump_id IS NOT NULL AS has_named  -- The dump has what it names.
FROM asked AS a
LEFT JOIN named AS n ON a.run_id = n.run_id AND a.message_id = n.message_id AND a.dump_id = n.dump_id
