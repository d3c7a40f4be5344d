-- By how much the occupied bytes of a memory space change, and where. Their running sum is the memory timeline.
-- grain: dump_id, memory_space, position_in_schedule
SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocations.
    position_in_schedule,  -- Position at which the change takes effect.
    CAST(SUM(change_bytes) AS BIGINT) AS change_bytes  -- Bytes more, or fewer, than at the position before.
FROM intermediate.allocation_changes
GROUP BY dump_id, memory_space, position_in_schedule
