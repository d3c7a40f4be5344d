-- The longest stretch of positions at which a value is alive and not used: between its definition and a use, or
-- between two uses; the earliest of equal ones.
-- grain: dump_id, value_id
WITH gaps AS (
    SELECT
        u.dump_id,
        u.value_id,
        u.moment_position,
        u.instruction_name,
        LAG(u.moment_position, 1, s.start_position) OVER in_order AS previous_position,
        LAG(u.instruction_name, 1, v.instruction_name) OVER in_order AS previous_instruction_name
    FROM intermediate.value_uses AS u
    INNER JOIN intermediate.slots AS s ON u.dump_id = s.dump_id AND u.value_id = s.value_id
    INNER JOIN staging.hlo_values AS v ON u.dump_id = v.dump_id AND u.value_id = v.value_id
    WINDOW in_order AS (PARTITION BY u.dump_id, u.value_id ORDER BY u.moment_position)
),

ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, value_id ORDER BY moment_position - previous_position DESC, moment_position ASC
        ) AS gap_rank
    FROM gaps
)

SELECT
    dump_id,  -- The dump.
    value_id,  -- The value.
    previous_position AS from_position,  -- Where the gap begins.
    previous_instruction_name AS from_instruction_name,  -- Instruction there: the definition or a user.
    moment_position AS to_position,  -- The use that ends it.
    instruction_name AS to_instruction_name,  -- The user there.
    GREATEST(moment_position - previous_position - 1, 0) AS idle_position_count  -- Positions between the two.
FROM ranked
WHERE gap_rank = 1
