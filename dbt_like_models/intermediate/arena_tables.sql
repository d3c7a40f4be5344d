-- The tuple tables among the temporaries of memory space 0, of allocations that are not all alive at one moment: there
-- tables and arrays must be told apart.
-- grain: dump_id, value_id
SELECT
    s.dump_id,  -- The dump.
    s.allocation_index,  -- The allocation.
    s.value_id,  -- The table.
    s.start_position,  -- First position alive.
    s.end_position,  -- Last position alive, included.
    s.offset_bytes,  -- Where its slot begins.
    s.size_bytes  -- Its slot, in bytes.
FROM intermediate.slots AS s
INNER JOIN intermediate.balances AS b ON s.dump_id = b.dump_id AND s.allocation_index = b.allocation_index
WHERE s.tuple_table_bytes > 0 AND b.kind = 'temp' AND b.memory_space = 0 AND b.other_moments_bytes > 0
