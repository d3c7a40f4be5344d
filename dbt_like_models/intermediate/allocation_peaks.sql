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

highest AS (
    SELECT dump_id, allocation_index, MAX(alive_bytes) AS alive_bytes FROM timeline
    GROUP BY dump_id, allocation_index
)

SELECT
    t.dump_id,  -- The dump.
    t.memory_space,  -- Memory space of the allocation.
    t.allocation_index,  -- The allocation.
    CAST(t.alive_bytes AS BIGINT) AS occupied_peak_bytes,  -- Most bytes in the union of live slots.
    MIN(t.position_in_schedule) AS occupied_peak_position  -- First position of that.
FROM timeline AS t
INNER JOIN highest AS h
    ON t.dump_id = h.dump_id AND t.allocation_index = h.allocation_index AND t.alive_bytes = h.alive_bytes
WHERE t.alive_bytes > 0
GROUP BY t.dump_id, t.memory_space, t.allocation_index, t.alive_bytes
