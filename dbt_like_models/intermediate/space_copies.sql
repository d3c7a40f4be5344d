-- Copies from one memory space to another, with their time. An asynchronous copy begins at its start (copy-start,
-- slice-start), at which the new value appears, and ends at its done, which hands it on.
-- grain: dump_id, value_id, source_value_id
WITH starts AS (
    SELECT
        p.dump_id,
        p.value_id,
        p.shape_index,
        i.schedule_position
    FROM staging.positions AS p
    INNER JOIN staging.instruction_results AS t ON p.dump_id = t.dump_id AND p.instruction_id = t.instruction_id
    INNER JOIN staging.instructions AS i ON p.dump_id = i.dump_id AND p.instruction_id = i.instruction_id
    WHERE t.opcode LIKE '%-start'
),

started AS (
    SELECT
        c.*,
        s.value_id IS NOT NULL AS is_asynchronous,
        s.shape_index AS start_shape_index,
        s.schedule_position AS start_position,
        ROW_NUMBER() OVER (
            PARTITION BY c.dump_id, c.value_id, c.source_value_id ORDER BY s.schedule_position
        ) AS start_rank
    FROM intermediate.moved_values AS c
    LEFT JOIN starts AS s ON c.dump_id = s.dump_id AND c.value_id = s.value_id
),

dones AS (
    SELECT
        s.dump_id,
        s.value_id,
        MIN(u.schedule_position) AS done_position
    FROM started AS s
    INNER JOIN staging.uses AS u
        ON
            s.dump_id = u.dump_id
            AND s.value_id = u.value_id
            AND s.start_shape_index = u.operand_shape_index
            AND s.start_position < u.schedule_position
    WHERE s.start_rank = 1
    GROUP BY s.dump_id, s.value_id
)

SELECT
    c.dump_id,  -- The dump.
    c.value_id,  -- The copy.
    c.source_value_id,  -- The value that is copied.
    c.opcode,  -- Operation that moves the bytes: copy, copy-start, slice, dynamic-slice or dynamic-update-slice.
    i.instruction_name,  -- Instruction that defines the copy.
    COALESCE(c.start_position, i.schedule_position) AS copy_position,  -- Line in the schedule at which it begins.
    c.is_asynchronous,  -- Whether other instructions run until its done.
    CASE
        WHEN c.is_asynchronous THEN d.done_position ELSE i.schedule_position
    END AS done_position  -- Line at which it is there; that of the copy itself where it is not asynchronous.
FROM started AS c
INNER JOIN staging.instructions AS i ON c.dump_id = i.dump_id AND c.instruction_id = i.instruction_id
LEFT JOIN dones AS d ON c.dump_id = d.dump_id AND c.value_id = d.value_id
WHERE c.start_rank = 1
