-- By how much the occupied bytes of an allocation with strict overlap change at each of its instants.
-- grain: dump_id, allocation_index, position_in_schedule
WITH changes AS (
    -- A value takes its segments while no earlier value holds them.
    SELECT
        dump_id,
        allocation_index,
        GREATEST(start_position, COALESCE(reached_position + 1, 0)) AS position_in_schedule,
        segment_bytes AS change_bytes
    FROM intermediate.swept_slots
    WHERE end_position > COALESCE(reached_position, -1)
    UNION ALL
    SELECT dump_id, allocation_index, end_position + 1, -segment_bytes FROM intermediate.swept_slots
    WHERE end_position > COALESCE(reached_position, -1)
)

SELECT
    i.dump_id,  -- The dump.
    i.memory_space,  -- Memory space of the allocation.
    i.allocation_index,  -- The allocation.
    i.position_in_schedule,  -- Position at which the change takes effect.
    CAST(COALESCE(SUM(c.change_bytes), 0) AS BIGINT) AS change_bytes  -- Bytes more, or fewer, than before.
FROM intermediate.sweep_instants AS i
LEFT JOIN changes AS c
    ON
        i.dump_id = c.dump_id
        AND i.allocation_index = c.allocation_index
        AND i.position_in_schedule = c.position_in_schedule
GROUP BY i.dump_id, i.memory_space, i.allocation_index, i.position_in_schedule
