-- By how much the listed bytes of a memory space change, and where: XLA's arithmetic of logical bytes, aliases twice.
-- grain: dump_id, memory_space, position_in_schedule
WITH changes AS (
    SELECT dump_id, memory_space, start_position AS instant, COALESCE(logical_bytes, 0) AS change_bytes
    FROM intermediate.slots
    UNION ALL
    SELECT dump_id, memory_space, end_position + 1, -COALESCE(logical_bytes, 0) FROM intermediate.slots
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    instant AS position_in_schedule,  -- Position at which the change takes effect.
    CAST(SUM(change_bytes) AS BIGINT) AS change_bytes  -- Bytes more, or fewer, than at the position before.
FROM changes
GROUP BY dump_id, memory_space, instant
