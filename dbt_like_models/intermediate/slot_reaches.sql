-- The slots of an allocation in the order of their offsets, each with the largest end of the slots before it.
-- grain: dump_id, value_id
SELECT
    v.dump_id,  -- The dump.
    v.value_id,  -- A value with a slot that is not empty.
    v.allocation_index,  -- Allocation that holds it.
    v.offset_bytes,  -- Where its slot begins.
    v.offset_bytes + v.size_bytes AS end_bytes,  -- The byte behind its last.
    v.start_position IS NOT NULL AS has_live_range,  -- Whether it is known when it lives.
    COALESCE(MAX(v.offset_bytes + v.size_bytes) OVER preceding, 0)
        AS reached_bytes,  -- How far the slots before it reach.
    COALESCE(
        MAX(CASE WHEN v.start_position IS NOT NULL THEN v.offset_bytes + v.size_bytes END) OVER preceding, 0
    ) AS reached_ranged_bytes,  -- How far those of them reach that have a live range.
    v.offset_bytes - LAG(v.offset_bytes) OVER by_offset
        AS distance_bytes  -- From the offset before it; 0 where it begins at the same; null for the first.
FROM staging.value_slots AS v
WHERE v.size_bytes > 0
WINDOW
    by_offset AS (
        PARTITION BY v.dump_id, v.allocation_index ORDER BY v.offset_bytes, v.size_bytes, v.value_id
    ),
    preceding AS (
        PARTITION BY v.dump_id, v.allocation_index ORDER BY v.offset_bytes, v.size_bytes, v.value_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
