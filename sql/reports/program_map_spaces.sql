-- How many values the allocation maps of some dumps have in each memory space, and what a map of the first `values` leaves out.
-- grain: dump_id, memory_space
-- parameters: dump_ids, values (how many are drawn at most)
WITH ranked AS (
    SELECT
        dump_id,
        memory_space,
        size_bytes,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id
            ORDER BY CAST(size_bytes AS DOUBLE) * (end_position - start_position + 1) DESC, value_id ASC
        ) AS area_rank
    FROM marts.allocation_map_v1
    WHERE dump_id IN ($dump_ids)
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    COUNT(*) AS value_count,  -- Values with a place and a live range.
    COUNT(*) FILTER (WHERE area_rank > $values) AS left_out_count,  -- Of these, not drawn: the smallest areas.
    MAX(size_bytes) FILTER (WHERE area_rank > $values) AS largest_left_out_bytes  -- The largest slot among those.
FROM ranked
GROUP BY dump_id, memory_space
ORDER BY dump_id, memory_space
