-- Copies from one memory space to another, with their time. An asynchronous copy begins at its start (copy-start,
-- slice-start), at which the new value appears, and ends at its done, which hands it on.
-- grain: dump_id, value_id, source_value_id
WITH starts AS (
    SELECT
        c.dump_id,
        c.value_id,
        p.instruction_id,
        p.shape_index,
        i.schedule_position,
        ROW_NUMBER() OVER (PARTITION BY c.dump_id, c.value_id ORDER BY i.schedule_position) AS start_rank
    FROM intermediate.moved_values AS c
    INNER JOIN staging.positions AS p ON c.dump_id = p.dump_id AND c.value_id = p.value_id
    INNER JOIN staging.instruction_results AS t ON p.dump_id = t.dump_id AND p.instruction_id = t.instruction_id
    INNER JOIN staging.instructions AS i ON p.dump_id = i.dump_id AND p.instruction_id = i.instruction_id
    WHERE t.opcode LIKE '%-start'
),

dones AS (
    SELECT
        s.dump_id,
        s.value_id,
        MIN(u.schedule_position) AS done_position
    FROM starts AS s
    INNER JOIN staging.uses AS u
        ON
            s.dump_id = u.dump_id
            AND s.value_id = u.value_id
            AND s.shape_index = u.operand_shape_index
            AND s.schedule_position < u.schedule_position
    WHERE s.start_rank = 1
    GROUP BY s.dump_id, s.value_id
)

SELECT
    c.dump_id,  -- The dump.
    c.value_id,  -- The copy.
    c.source_value_id,  -- The value that is copied.
    c.opcode,  -- Operation that moves the bytes: copy, copy-start, slice, dynamic-slice or dynamic-update-slice.
    i.instruction_name,  -- Instruction that defines the copy.
    COALESCE(s.schedule_position, i.schedule_position) AS copy_position,  -- Line in the schedule at which it begins.
    s.instruction_id IS NOT NULL AS is_asynchronous,  -- Whether other instructions run until its done.
    CASE
        WHEN s.instruction_id IS NULL THEN i.schedule_position ELSE d.done_position
    END AS done_position  -- Line at which it is there; that of the copy itself where it is not asynchronous.
FROM intermediate.moved_values AS c
INNER JOIN staging.instructions AS i ON c.dump_id = i.dump_id AND c.instruction_id = i.instruction_id
LEFT JOIN starts AS s ON c.dump_id = s.dump_id AND c.value_id = s.value_id AND s.start_rank = 1
LEFT JOIN dones AS d ON c.dump_id = d.dump_id AND c.value_id = d.value_id
