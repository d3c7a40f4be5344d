-- The positions at which a value is used in the schedule, each with one user. A use behind the live range counts at its end:
-- a loop takes its initial values when its body begins, before the line of the loop, and their bytes live on under other
-- values. Of several users behind the end the first is the one that takes the value; others stand around it.
-- grain: dump_id, value_id, moment_position
WITH ranked AS (
    SELECT
        s.dump_id,
        s.value_id,
        LEAST(u.schedule_position, s.end_position) AS moment_position,
        u.instruction_id,
        u.instruction_name,
        u.operand_number,
        ROW_NUMBER() OVER (
            PARTITION BY s.dump_id, s.value_id, LEAST(u.schedule_position, s.end_position)
            ORDER BY u.schedule_position ASC, u.operand_number ASC
        ) AS user_rank
    FROM intermediate.slots AS s
    INNER JOIN staging.uses AS u ON s.dump_id = u.dump_id AND s.value_id = u.value_id
    WHERE u.schedule_position IS NOT NULL
)

SELECT
    dump_id,  -- The dump.
    value_id,  -- The value.
    moment_position,  -- Position of the use within the live range.
    instruction_id,  -- The user.
    instruction_name,  -- Its name.
    operand_number,  -- Which of its operands the value is, the first of several.
    ROW_NUMBER() OVER (
        PARTITION BY dump_id, value_id ORDER BY moment_position DESC
    ) AS rank_from_end  -- 1 for the last use.
FROM ranked
WHERE user_rank = 1
