-- Elementary address segments of the allocations with strict overlap: from one slot border to the next.
-- grain: dump_id, allocation_index, segment_start_bytes
WITH borders AS (
    SELECT dump_id, allocation_index, offset_bytes AS border_bytes FROM intermediate.slots
    WHERE has_strict_overlap AND size_bytes > 0
    UNION
    SELECT dump_id, allocation_index, offset_bytes + size_bytes AS border_bytes FROM intermediate.slots
    WHERE has_strict_overlap AND size_bytes > 0
)

SELECT
    dump_id,  -- The dump.
    allocation_index,  -- The allocation.
    border_bytes AS segment_start_bytes,  -- Where the segment begins.
    LEAD(border_bytes) OVER (
        PARTITION BY dump_id, allocation_index ORDER BY border_bytes
    ) AS segment_end_bytes  -- The byte behind its last; null behind the last slot.
FROM borders
