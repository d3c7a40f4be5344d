-- Allocations whose values share bytes in more than passing: which address segment is taken at which instant.
-- grain: dump_id, allocation_index, segment_start_bytes, position_in_schedule
WITH ranked AS (
    SELECT
        s.dump_id,
        s.memory_space,
        s.allocation_index,
        g.segment_start_bytes,
        g.segment_end_bytes - g.segment_start_bytes AS segment_bytes,
        t.position_in_schedule,
        s.value_id,
        ROW_NUMBER() OVER (
            PARTITION BY s.dump_id, s.allocation_index, g.segment_start_bytes, t.position_in_schedule
            ORDER BY s.start_position DESC, s.value_id ASC
        ) AS claim
    FROM intermediate.slots AS s
    INNER JOIN intermediate.address_segments AS g
        ON
            s.dump_id = g.dump_id
            AND s.allocation_index = g.allocation_index
            AND s.offset_bytes <= g.segment_start_bytes
            AND s.offset_bytes + s.size_bytes >= g.segment_end_bytes
    INNER JOIN intermediate.sweep_instants AS t
        ON
            s.dump_id = t.dump_id
            AND s.allocation_index = t.allocation_index
            AND t.position_in_schedule BETWEEN s.start_position AND s.end_position
    WHERE s.has_strict_overlap AND s.size_bytes > 0
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    allocation_index,  -- The allocation.
    segment_start_bytes,  -- Where the segment begins.
    segment_bytes,  -- Its length.
    position_in_schedule,  -- Instant at which something starts or has just ended.
    value_id AS owner_value_id  -- The value that owns the segment then: the one that starts last, then the lowest id.
FROM ranked
WHERE claim = 1
