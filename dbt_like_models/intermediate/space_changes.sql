-- The changes in a memory space, by position: the memory timeline is their running sum. Listed bytes follow XLA's
-- arithmetic: logical bytes, aliases counted twice.
-- grain: dump_id, memory_space, position_in_schedule
-- materialized: incremental by dump_id
WITH changes AS (
    SELECT dump_id, memory_space, position_in_schedule, change_bytes AS occupied, 0 AS listed, 0 AS buffers
    FROM intermediate.allocation_changes
    UNION ALL
    SELECT dump_id, memory_space, start_position, 0, COALESCE(logical_bytes, 0), 1 FROM intermediate.slots
    UNION ALL
    -- Ranges are closed: a value is gone one position behind its end.
    SELECT dump_id, memory_space, end_position + 1, 0, -COALESCE(logical_bytes, 0), -1 FROM intermediate.slots
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocations.
    position_in_schedule,  -- Position at which the change takes effect.
    CAST(SUM(occupied) AS BIGINT) AS occupied_change_bytes,  -- Occupied bytes more, or fewer, than before.
    CAST(SUM(listed) AS BIGINT) AS listed_change_bytes,  -- Listed bytes more, or fewer.
    CAST(SUM(buffers) AS BIGINT) AS buffer_change_count  -- Values alive more, or fewer.
FROM changes
GROUP BY dump_id, memory_space, position_in_schedule
