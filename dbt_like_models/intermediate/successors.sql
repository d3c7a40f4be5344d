-- The value that begins in a slot at the position where another one ends: the bytes stay in use there.
-- grain: dump_id, value_id
SELECT
    a.dump_id,  -- The dump.
    a.value_id,  -- The value that ends.
    MIN(b.value_id) AS successor_value_id  -- The one that begins; of several the lowest id.
FROM intermediate.slots AS a
INNER JOIN intermediate.slots AS b
    ON
        a.dump_id = b.dump_id
        AND a.allocation_index = b.allocation_index
        AND a.offset_bytes = b.offset_bytes
        AND a.end_position = b.start_position
        AND a.value_id <> b.value_id
WHERE a.size_bytes > 0 AND b.size_bytes > 0
GROUP BY a.dump_id, a.value_id
