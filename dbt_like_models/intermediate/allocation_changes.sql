-- By how much the occupied bytes of an allocation change, and where. Their running sum is its memory timeline.
-- grain: dump_id, allocation_index, position_in_schedule
WITH plain AS (
    SELECT dump_id, memory_space, allocation_index, start_position, end_position, size_bytes FROM intermediate.slots
    WHERE NOT has_strict_overlap
),

-- What an allocation with strict overlaps occupies at each of its instants; 0 where nothing is alive.
swept AS (
    SELECT
        i.dump_id,
        i.memory_space,
        i.allocation_index,
        i.instant,
        COALESCE(SUM(s.segment_bytes), 0) AS occupied_bytes
    FROM (
        -- Empty slots have no segments: an instant of theirs would read as one at which nothing is alive.
        SELECT dump_id, memory_space, allocation_index, start_position AS instant FROM intermediate.slots
        WHERE has_strict_overlap AND size_bytes > 0
        UNION
        SELECT dump_id, memory_space, allocation_index, end_position + 1 AS instant FROM intermediate.slots
        WHERE has_strict_overlap AND size_bytes > 0
    ) AS i
    LEFT JOIN intermediate.swept_segments AS s
        ON
            i.dump_id = s.dump_id
            AND i.allocation_index = s.allocation_index
            AND i.instant = s.position_in_schedule
    GROUP BY i.dump_id, i.memory_space, i.allocation_index, i.instant
),

changes AS (
    SELECT dump_id, memory_space, allocation_index, start_position AS instant, size_bytes AS change_bytes FROM plain
    UNION ALL
    -- Ranges are closed: a value is gone one position behind its end.
    SELECT dump_id, memory_space, allocation_index, end_position + 1, -size_bytes FROM plain
    UNION ALL
    -- Bytes that two values share at one instant are counted once then.
    SELECT dump_id, memory_space, allocation_index, touching_position, -shared_bytes FROM intermediate.touching_slots
    UNION ALL
    SELECT dump_id, memory_space, allocation_index, touching_position + 1, shared_bytes FROM intermediate.touching_slots
    UNION ALL
    SELECT
        dump_id,
        memory_space,
        allocation_index,
        instant,
        occupied_bytes - LAG(occupied_bytes, 1, 0) OVER (
            PARTITION BY dump_id, allocation_index ORDER BY instant
        )
    FROM swept
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    allocation_index,  -- The allocation.
    instant AS position_in_schedule,  -- Position at which the change takes effect.
    CAST(SUM(change_bytes) AS BIGINT) AS change_bytes  -- Bytes more, or fewer, than at the position before.
FROM changes
GROUP BY dump_id, memory_space, allocation_index, instant
