-- The highest point of the occupied timeline of each allocation.
-- grain: dump_id, allocation_index
WITH timeline AS (
    SELECT
        dump_id,
        memory_space,
        allocation_index,
        position_in_schedule,
        SUM(change_bytes) OVER (
            PARTITION BY dump_id, allocation_index ORDER BY position_in_schedule
        ) AS alive_bytes
    FROM intermediate.allocation_changes
),

ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, allocation_index ORDER BY alive_bytes DESC, position_in_schedule ASC
        ) AS height
    FROM timeline
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    allocation_index,  -- The allocation.
    CAST(alive_bytes AS BIGINT) AS occupied_peak_bytes,  -- Most bytes in the union of live slots.
    position_in_schedule AS occupied_peak_position  -- First position of that.
FROM ranked
WHERE height = 1 AND alive_bytes > 0
