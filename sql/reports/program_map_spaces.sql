-- How many values the allocation map has in each memory space, and what a map of the first `values` leaves out.
-- grain: memory_space
-- parameters: dump_id, values (how many are drawn at most)
WITH ranked AS (
    SELECT
        memory_space,
        size_bytes,
        ROW_NUMBER() OVER (
            ORDER BY CAST(size_bytes AS DOUBLE) * (end_position - start_position + 1) DESC, value_id ASC
        ) AS area_rank
    FROM marts.allocation_map_v1
    WHERE dump_id = $dump_id
)

SELECT
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    COUNT(*) AS value_count,  -- Values with a place and a live range.
    COUNT(*) FILTER (WHERE area_rank > $values) AS left_out_count,  -- Of these, not drawn: the smallest areas.
    MAX(size_bytes) FILTER (WHERE area_rank > $values) AS largest_left_out_bytes  -- The largest slot among those.
FROM ranked
GROUP BY memory_space
ORDER BY memory_space
