-- The instants at which something changes in an allocation with strict overlap. Empty slots change nothing.
-- grain: dump_id, allocation_index, position_in_schedule
SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    allocation_index,  -- The allocation.
    start_position AS position_in_schedule  -- Where a value starts, or is gone.
FROM intermediate.slots
WHERE has_strict_overlap AND size_bytes > 0
UNION
SELECT
    dump_id,
    memory_space,
    allocation_index,
    end_position + 1 AS position_in_schedule
FROM intermediate.slots
WHERE has_strict_overlap AND size_bytes > 0
