-- Values that take part in a memory timeline: those with a live range, outside thread-local allocations.
-- grain: dump_id, value_id
SELECT
    v.dump_id,  -- The dump.
    v.value_id,  -- Id of the value.
    a.memory_space,  -- Memory space of the allocation.
    v.allocation_index,  -- Allocation that holds it.
    a.kind,  -- parameter, output, constant or temp.
    a.has_strict_overlap,  -- Occupied bytes have to be swept per address segment.
    v.start_position,  -- First position alive.
    v.end_position,  -- Last position alive, included.
    v.offset_bytes,  -- Where its slot begins.
    v.size_bytes,  -- Its slot, in bytes.
    v.logical_bytes,  -- Bytes without padding; 8 per element of a tuple.
    v.element_bytes,  -- Bytes of elements; 0 for a tuple.
    v.layout_padding_bytes,  -- Bytes that tiles add.
    v.tuple_table_bytes  -- Pointer table of a tuple.
FROM staging.value_slots AS v
INNER JOIN staging.allocation_sizes AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
WHERE v.start_position IS NOT NULL AND NOT a.is_thread_local
