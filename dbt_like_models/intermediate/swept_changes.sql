-- By how much the occupied bytes of an allocation with strict overlap change at each of its instants.
-- grain: dump_id, allocation_index, position_in_schedule
WITH swept AS (
    SELECT
        i.dump_id,
        i.memory_space,
        i.allocation_index,
        i.position_in_schedule,
        -- Where nothing is alive there is no segment.
        COALESCE(SUM(s.segment_bytes), 0) AS occupied_bytes
    FROM intermediate.sweep_instants AS i
    LEFT JOIN intermediate.swept_segments AS s
        ON
            i.dump_id = s.dump_id
            AND i.allocation_index = s.allocation_index
            AND i.position_in_schedule = s.position_in_schedule
    GROUP BY i.dump_id, i.memory_space, i.allocation_index, i.position_in_schedule
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    allocation_index,  -- The allocation.
    position_in_schedule,  -- Position at which the change takes effect.
    CAST(
        occupied_bytes - LAG(occupied_bytes, 1, 0) OVER (
            PARTITION BY dump_id, allocation_index ORDER BY position_in_schedule
        ) AS BIGINT
    ) AS change_bytes  -- Bytes more, or fewer, than before.
FROM swept
