-- The allocations of a dump that the allocation map is drawn in: all but thread-local ones.
-- grain: allocation_index
-- parameters: dump_id
SELECT
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    allocation_index,  -- The allocation.
    kind,  -- parameter, output, constant or temp.
    size_bytes  -- Bytes reserved.
FROM marts.allocation_balance_v1
WHERE dump_id = $dump_id AND kind <> 'thread-local'
ORDER BY memory_space ASC, allocation_index ASC
