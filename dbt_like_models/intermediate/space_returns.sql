-- Values that are moved out of a memory space and copied back into it, whole or by prefetches of slices: the first copy of
-- each that is made there. Values that wait in the state of a loop, or of which the program uses a part, are not followed.
-- grain: dump_id, value_id
WITH ranked AS (
    SELECT
        c.dump_id,
        c.value_id,
        s.memory_space,
        s.size_bytes,
        s.end_position + 1 AS away_from_position,
        r.value_id AS return_value_id,
        b.instruction_name AS return_instruction_name,
        b.start_position AS return_position,
        ROW_NUMBER() OVER (PARTITION BY c.dump_id, c.value_id ORDER BY b.start_position ASC, r.value_id ASC) AS return_rank
    FROM intermediate.space_copies AS c
    INNER JOIN staging.value_slots AS s ON c.dump_id = s.dump_id AND c.source_value_id = s.value_id
    INNER JOIN intermediate.space_copies AS r ON c.dump_id = r.dump_id AND c.value_id = r.source_value_id
    INNER JOIN staging.hlo_values AS b ON r.dump_id = b.dump_id AND r.value_id = b.value_id
    WHERE
        c.opcode IN ('copy', 'copy-start')
        AND (r.opcode IN ('copy', 'copy-start') OR (r.opcode = 'slice' AND r.is_asynchronous))
        AND s.memory_space = b.memory_space
        AND b.start_position IS NOT NULL
        AND s.end_position IS NOT NULL
)

SELECT
    dump_id,  -- The dump.
    value_id,  -- The copy in the other space.
    memory_space,  -- Memory space where the value was, and is again.
    size_bytes,  -- Its slot there.
    away_from_position,  -- First position at which it is no longer there.
    return_value_id,  -- The copy that is made of it there.
    return_instruction_name,  -- Instruction that defines this one.
    return_position  -- First position at which this one is alive.
FROM ranked
WHERE return_rank = 1
