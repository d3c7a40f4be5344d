-- The allocations of some dumps that the allocation map is drawn in: all but thread-local ones.
-- grain: dump_id, allocation_index
-- parameters: dump_ids
SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    allocation_index,  -- The allocation.
    kind,  -- parameter, output, constant or temp.
    size_bytes  -- Bytes reserved.
FROM marts.allocation_balance_v1
WHERE dump_id IN ($dump_ids) AND kind <> 'thread-local'
ORDER BY dump_id ASC, memory_space ASC, allocation_index ASC
