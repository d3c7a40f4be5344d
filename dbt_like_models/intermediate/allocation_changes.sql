-- By how much the occupied bytes of an allocation change, and where. Their running sum is its memory timeline.
-- grain: dump_id, allocation_index, position_in_schedule
WITH changes AS (
    SELECT dump_id, memory_space, allocation_index, start_position AS instant, size_bytes AS change_bytes
    FROM intermediate.slots
    WHERE NOT has_strict_overlap
    UNION ALL
    -- Ranges are closed: a value is gone one position behind its end.
    SELECT dump_id, memory_space, allocation_index, end_position + 1, -size_bytes FROM intermediate.slots
    WHERE NOT has_strict_overlap
    UNION ALL
    -- Bytes that two values share at one instant are counted once at that instant.
    SELECT dump_id, memory_space, allocation_index, touching_position, -shared_bytes FROM intermediate.touching_slots
    UNION ALL
    SELECT dump_id, memory_space, allocation_index, touching_position + 1, shared_bytes FROM intermediate.touching_slots
    UNION ALL
    SELECT dump_id, memory_space, allocation_index, position_in_schedule, change_bytes FROM intermediate.swept_changes
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    allocation_index,  -- The allocation.
    instant AS position_in_schedule,  -- Position at which the change takes effect.
    CAST(SUM(change_bytes) AS BIGINT) AS change_bytes  -- Bytes more, or fewer, than at the position before.
FROM changes
GROUP BY dump_id, memory_space, allocation_index, instant
