-- What a dump copies between memory spaces, the largest first, and what is moved out and copied back before the rest.
-- grain: value_id, source_value_id
-- parameters: dump_id, copies (how many)
WITH ranked AS (
    SELECT
        *,
        COUNT(*) OVER (PARTITION BY dump_id) AS copy_count,
        SUM(copied_bytes) OVER (PARTITION BY dump_id) AS all_copied_bytes,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id
            ORDER BY
                return_position IS NULL ASC, saved_bytes DESC, copied_bytes DESC, value_id ASC, source_value_id ASC
        ) AS copy_rank
    FROM marts.space_copies_v1
    WHERE dump_id = $dump_id
)

SELECT
    copy_rank,  -- Place in this list, from 1.
    source_instruction_name,  -- Instruction that defines the value that is copied.
    source_memory_space,  -- Memory space that it is copied from.
    memory_space,  -- Memory space that it is copied to.
    instruction_name,  -- Instruction that defines the copy.
    opcode,  -- Its operation.
    shape_text,  -- Shape as printed.
    copied_bytes,  -- Bytes that are moved.
    copy_position,  -- Where it begins.
    done_position,  -- Where it is done.
    both_alive_position_count,  -- Positions at which both sides are alive.
    return_position,  -- Where it is back; null where it is not copied back.
    away_position_count,  -- Positions at which it is in the other space alone.
    saved_bytes,  -- What that takes off the occupied peak of the space where it was.
    copy_count,  -- Copies of the dump, all together.
    CAST(all_copied_bytes AS BIGINT) AS all_copied_bytes  -- Bytes that they move.
FROM ranked
WHERE copy_rank <= $copies
ORDER BY copy_rank ASC
