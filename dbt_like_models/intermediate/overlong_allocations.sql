-- Allocations with a slot that reaches beyond their end: preset regions, merged private stacks.
-- grain: dump_id, allocation_index
SELECT
    v.dump_id,  -- The dump.
    v.allocation_index,  -- The allocation.
    MIN(v.value_id) AS first_value_id,  -- The first of the values that reach beyond.
    MAX(v.offset_bytes + v.size_bytes) AS reached_bytes,  -- How far they reach.
    MAX(a.size_bytes) AS size_bytes  -- The size of the allocation.
FROM staging.value_slots AS v
INNER JOIN staging.allocation_sizes AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
WHERE v.offset_bytes + v.size_bytes > a.size_bytes
GROUP BY v.dump_id, v.allocation_index
