-- How long values live, when they are used, between which two uses they lie idle longest, and what keeps them alive: their
-- last user, or what lies beyond all uses. Values with a live range only. A use behind the live range counts at its end: a
-- loop takes its initial values when its body begins, and from there their bytes live on under another value.
-- grain: dump_id, value_id
-- portable: yes
WITH printed_uses AS (
    SELECT
        dump_id,
        value_id,
        COUNT(*) AS use_count,
        MIN(schedule_position) AS first_user_position,
        MAX(schedule_position) AS last_user_position
    FROM staging.uses
    GROUP BY dump_id, value_id
),

ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, value_id ORDER BY moment_position - previous_position DESC, moment_number ASC
        ) AS gap_rank
    FROM intermediate.value_moments
    WHERE moment_number > 0
),

gaps AS (
    SELECT
        dump_id,
        value_id,
        previous_position AS idle_from_position,
        previous_instruction_name AS idle_from_instruction_name,
        moment_position AS idle_to_position,
        instruction_name AS idle_to_instruction_name
    FROM ranked
    WHERE gap_rank = 1
),

last_users AS (
    SELECT
        m.dump_id,
        m.value_id,
        m.moment_position,
        m.operand_number,
        m.instruction_name,
        t.opcode,
        t.op_name,
        t.source_file,
        t.source_line,
        r.instruction_name AS operand_name
    FROM ranked AS m
    LEFT JOIN staging.instruction_texts AS t ON m.dump_id = t.dump_id AND m.instruction_id = t.instruction_id
    LEFT JOIN intermediate.operands AS o
        ON m.dump_id = o.dump_id AND m.instruction_id = o.instruction_id AND m.operand_number = o.operand_number
    LEFT JOIN staging.instructions AS r ON o.dump_id = r.dump_id AND o.operand_instruction_id = r.instruction_id
    WHERE m.rank_from_end = 1
),

-- A result of a called computation stands at its root, the line before its end.
results AS (
    SELECT DISTINCT
        s.dump_id,
        s.value_id
    FROM intermediate.slots AS s
    INNER JOIN staging.positions AS p ON s.dump_id = p.dump_id AND s.value_id = p.value_id
    INNER JOIN staging.instructions AS i ON p.dump_id = i.dump_id AND p.instruction_id = i.instruction_id
    WHERE i.schedule_position = s.end_position - 1
),

-- The value that begins in the slot while this one ends in it.
successors AS (
    SELECT
        a.dump_id,
        a.value_id,
        MIN(b.value_id) AS successor_value_id
    FROM intermediate.slots AS a
    INNER JOIN intermediate.slots AS b
        ON
            a.dump_id = b.dump_id
            AND a.allocation_index = b.allocation_index
            AND a.offset_bytes = b.offset_bytes
            AND a.end_position = b.start_position
            AND a.value_id <> b.value_id
    WHERE a.size_bytes > 0 AND b.size_bytes > 0
    GROUP BY a.dump_id, a.value_id
)

SELECT
    s.dump_id,  -- The dump.
    s.value_id,  -- The value.
    s.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    s.allocation_index,  -- Allocation that holds it.
    s.kind,  -- parameter, output, constant or temp.
    v.instruction_name,  -- Instruction that defines it.
    v.shape_index,  -- Which part of the instruction's result; null = not printed.
    v.shape_text,  -- Shape as printed.
    s.size_bytes,  -- Its slot, in bytes.
    s.start_position,  -- Birth: first position alive.
    s.end_position,  -- Death: last position alive, included.
    s.end_position - s.start_position + 1 AS live_position_count,  -- Positions at which it is alive.
    CAST(s.size_bytes AS DOUBLE) * (s.end_position - s.start_position + 1)
        AS byte_steps,  -- Its slot times these positions: what freeing it earlier is worth.
    CAST(COALESCE(u.use_count, 0) AS BIGINT) AS use_count,  -- Uses as printed.
    CASE
        WHEN u.first_user_position > s.end_position THEN s.end_position ELSE u.first_user_position
    END AS first_use_position,  -- First position at which it is used; null without uses in the schedule.
    l.moment_position AS last_use_position,  -- Last position at which it is used.
    s.end_position - l.moment_position AS idle_position_count,  -- Positions it is kept after its last use.
    CASE
        WHEN s.end_position = d.max_position AND s.kind = 'parameter' THEN 'argument'
        WHEN s.end_position = d.max_position THEN 'result'
        WHEN u.last_user_position > s.end_position THEN 'handed on'
        WHEN u.last_user_position = s.end_position THEN 'use'
        WHEN u.last_user_position IS NULL AND s.start_position = s.end_position THEN 'nothing'
        WHEN v.is_phi OR c.value_id IS NOT NULL THEN 'computation'
        ELSE 'alias set'
    END AS kept_by,  -- What keeps it up to its end: use, its last user; handed on, a loop or another user that goes on with its bytes; argument, the caller of the program; result, the program's; computation, the loop, branch or call that it is a result or the state of; alias set, the values that share its slot; nothing.
    l.instruction_name AS last_user_name,  -- Instruction at the last use; null without uses in the schedule.
    l.opcode AS last_user_opcode,  -- Its operation; null where its text is not printed.
    l.op_name AS last_user_op_name,  -- Name of its framework operation.
    l.source_file AS last_user_source_file,  -- Source file of the user's program.
    l.source_line AS last_user_source_line,  -- Line in it.
    l.operand_number AS last_user_operand_number,  -- Which operand of the last user it is.
    NULLIF(l.operand_name, v.instruction_name) AS read_through_name,  -- Instruction that hands it to the last user, such as bitcast, tuple or get-tuple-element; null where it is the one that defines it, or the dump does not tell.
    g.idle_from_position,  -- Where its longest gap between two moments of need begins: its definition or a use; the earliest of equal ones.
    g.idle_from_instruction_name,  -- Instruction there.
    g.idle_to_position,  -- The use that ends the gap.
    g.idle_to_instruction_name,  -- Instruction there.
    CASE
        WHEN g.idle_to_position > g.idle_from_position THEN g.idle_to_position - g.idle_from_position - 1
        WHEN g.idle_to_position = g.idle_from_position THEN 0
    END AS longest_idle_position_count,  -- Positions between the two at which it is alive and nobody uses it.
    n.instruction_name AS successor_name  -- Instruction whose value begins in the same slot where this one ends: its bytes live on there.
FROM intermediate.slots AS s
INNER JOIN staging.dumps AS d ON s.dump_id = d.dump_id
INNER JOIN staging.hlo_values AS v ON s.dump_id = v.dump_id AND s.value_id = v.value_id
LEFT JOIN printed_uses AS u ON s.dump_id = u.dump_id AND s.value_id = u.value_id
LEFT JOIN last_users AS l ON s.dump_id = l.dump_id AND s.value_id = l.value_id
LEFT JOIN gaps AS g ON s.dump_id = g.dump_id AND s.value_id = g.value_id
LEFT JOIN results AS c ON s.dump_id = c.dump_id AND s.value_id = c.value_id
LEFT JOIN successors AS x ON s.dump_id = x.dump_id AND s.value_id = x.value_id
LEFT JOIN staging.hlo_values AS n ON x.dump_id = n.dump_id AND x.successor_value_id = n.value_id
