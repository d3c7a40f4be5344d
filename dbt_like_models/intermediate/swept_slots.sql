-- Allocations whose values share bytes for more than an instant: which value lies in which address segment, and when.
-- grain: dump_id, allocation_index, segment_start_bytes, value_id
SELECT
    s.dump_id,  -- The dump.
    s.memory_space,  -- Memory space of the allocation.
    s.allocation_index,  -- The allocation.
    g.segment_start_bytes,  -- Where the segment begins.
    g.segment_end_bytes - g.segment_start_bytes AS segment_bytes,  -- Its length.
    s.value_id,  -- A value with bytes in it.
    s.start_position,  -- First position alive.
    s.end_position,  -- Last position alive, included.
    MAX(s.end_position) OVER (
        PARTITION BY s.dump_id, s.allocation_index, g.segment_start_bytes
        ORDER BY s.start_position, s.end_position, s.value_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS reached_position  -- Until when those before it, by start and end, hold the segment; null for the first.
FROM intermediate.slots AS s
INNER JOIN intermediate.address_segments AS g
    ON
        s.dump_id = g.dump_id
        AND s.allocation_index = g.allocation_index
        AND s.offset_bytes <= g.segment_start_bytes
        AND s.offset_bytes + s.size_bytes >= g.segment_end_bytes
WHERE s.has_strict_overlap AND s.size_bytes > 0
