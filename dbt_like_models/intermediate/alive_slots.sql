-- The values alive at the moments for which owners of bytes are computed.
-- grain: dump_id, value_id, moment
SELECT
    s.dump_id,  -- The dump.
    s.value_id,  -- A value alive at the moment.
    m.moment,  -- Whose peak: memory space peak or allocation peak.
    m.position_in_schedule,  -- First position of that peak.
    s.memory_space,  -- Memory space of the allocation.
    s.allocation_index,  -- The allocation.
    s.kind,  -- parameter, output, constant or temp.
    s.has_strict_overlap,  -- Occupied bytes have to be swept per address segment.
    s.size_bytes,  -- The value's slot, in bytes.
    s.element_bytes,  -- Of the slot: elements.
    s.layout_padding_bytes,  -- Of the slot: what tiles add.
    s.tuple_table_bytes  -- Of the slot: the pointer table of a tuple.
FROM intermediate.slots AS s
INNER JOIN intermediate.moments AS m ON s.dump_id = m.dump_id AND s.allocation_index = m.allocation_index
WHERE m.position_in_schedule BETWEEN s.start_position AND s.end_position
