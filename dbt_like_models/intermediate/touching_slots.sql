-- Pairs of values that share bytes at the one instant where the first ends and the second starts.
-- grain: dump_id, ending_value_id, starting_value_id
SELECT
    x.dump_id,  -- The dump.
    x.memory_space,  -- Memory space of the allocation.
    x.allocation_index,  -- The allocation.
    x.value_id AS ending_value_id,  -- The value that ends.
    y.value_id AS starting_value_id,  -- The value that starts.
    y.start_position AS touching_position,  -- The instant at which both are alive.
    LEAST(x.offset_bytes + x.size_bytes, y.offset_bytes + y.size_bytes)
    - GREATEST(x.offset_bytes, y.offset_bytes) AS shared_bytes  -- Bytes that both hold then.
FROM intermediate.slots AS x
INNER JOIN intermediate.slots AS y
    ON
        x.dump_id = y.dump_id
        AND x.allocation_index = y.allocation_index
        AND x.end_position = y.start_position
        AND x.value_id <> y.value_id
WHERE
    x.offset_bytes < y.offset_bytes + y.size_bytes
    AND y.offset_bytes < x.offset_bytes + x.size_bytes
    AND NOT x.has_strict_overlap
