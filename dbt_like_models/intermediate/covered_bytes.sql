-- Which bytes of an allocation some value ever uses, and how many bytes a constant stride leaves free between them.
-- grain: dump_id, allocation_index
SELECT
    r.dump_id,  -- The dump.
    r.allocation_index,  -- The allocation.
    CAST(SUM(GREATEST(r.end_bytes - GREATEST(r.offset_bytes, r.reached_bytes), 0)) AS BIGINT)
        AS covered_bytes,  -- Bytes in the union of all slots.
    CAST(
        SUM(
            CASE
                WHEN r.has_live_range THEN GREATEST(r.end_bytes - GREATEST(r.offset_bytes, r.reached_ranged_bytes), 0)
                ELSE 0
            END
        ) AS BIGINT
    ) AS ranged_bytes,  -- Bytes in the union of the slots with a live range.
    CAST(
        SUM(
            CASE
                WHEN r.distance_bytes = s.stride_bytes AND r.offset_bytes > r.reached_bytes
                    THEN r.offset_bytes - r.reached_bytes
                ELSE 0
            END
        ) AS BIGINT
    ) AS air_bytes  -- Bytes between slots that stand at the stride of the allocation.
FROM intermediate.slot_reaches AS r
LEFT JOIN intermediate.strides AS s ON r.dump_id = s.dump_id AND r.allocation_index = s.allocation_index
GROUP BY r.dump_id, r.allocation_index
