-- The moments at which a value is needed: its definition (moment 0), and each position at which an instruction of the
-- schedule uses it, however many operands it is. A use behind its live range counts at the end of it: a loop takes its
-- initial values when its body begins, before the line of the loop, and their bytes live on under other values.
-- grain: dump_id, value_id, moment_number
WITH uses AS (
    SELECT
        s.dump_id,
        s.value_id,
        LEAST(u.schedule_position, s.end_position) AS moment_position,
        u.instruction_id,
        u.instruction_name,
        u.operand_number,
        u.schedule_position
    FROM intermediate.slots AS s
    INNER JOIN staging.uses AS u ON s.dump_id = u.dump_id AND s.value_id = u.value_id
    WHERE u.schedule_position IS NOT NULL
),

-- Of several users behind the end the first is the one that takes the value; others stand around it.
users AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, value_id, moment_position ORDER BY schedule_position ASC, operand_number ASC
        ) AS user_rank
    FROM uses
),

moments AS (
    SELECT
        s.dump_id,
        s.value_id,
        s.start_position AS moment_position,
        v.instruction_id,
        v.instruction_name,
        CAST(NULL AS BIGINT) AS operand_number,
        CAST(NULL AS BIGINT) AS schedule_position,
        0 AS is_use
    FROM intermediate.slots AS s
    INNER JOIN staging.hlo_values AS v ON s.dump_id = v.dump_id AND s.value_id = v.value_id
    UNION ALL
    SELECT
        dump_id,
        value_id,
        moment_position,
        instruction_id,
        instruction_name,
        operand_number,
        schedule_position,
        1 AS is_use
    FROM users
    WHERE user_rank = 1
)

SELECT
    dump_id,  -- The dump.
    value_id,  -- The value.
    ROW_NUMBER() OVER (
        PARTITION BY dump_id, value_id ORDER BY is_use ASC, moment_position ASC
    ) - 1 AS moment_number,  -- 0 for the definition, then its uses in the order of the schedule.
    ROW_NUMBER() OVER (
        PARTITION BY dump_id, value_id ORDER BY is_use DESC, moment_position DESC
    ) AS rank_from_end,  -- 1 for the last use, or the definition where there is none.
    moment_position,  -- Position within its live range.
    instruction_id,  -- Instruction that defines or uses it.
    instruction_name,  -- Its name.
    operand_number,  -- Which operand of the user it is; null for the definition.
    schedule_position,  -- Line of the user in the schedule; null for the definition.
    LAG(moment_position) OVER (
        PARTITION BY dump_id, value_id ORDER BY is_use ASC, moment_position ASC
    ) AS previous_position,  -- The moment before; null for the definition.
    LAG(instruction_name) OVER (
        PARTITION BY dump_id, value_id ORDER BY is_use ASC, moment_position ASC
    ) AS previous_instruction_name  -- Its instruction.
FROM moments
