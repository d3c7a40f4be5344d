-- The values alive at the occupied peak of a memory space, each byte with one owner.
-- element + layout padding + slack + tuple table = owned, and what is owned sums to the occupied peak.
-- grain: dump_id, value_id
-- materialized: incremental by dump_id
SELECT
    dump_id,  -- The dump.
    value_id,  -- A value alive at the peak.
    position_in_schedule,  -- First position of the peak.
    memory_space,  -- Memory space of the allocation.
    allocation_index,  -- The allocation.
    kind,  -- parameter, output, constant or temp.
    size_bytes,  -- The value's slot, in bytes.
    owned_bytes,  -- Bytes of the slot that belong to this value and to no other.
    element_bytes,  -- Of the owned: elements.
    layout_padding_bytes,  -- Of the owned: what tiles add.
    slack_bytes,  -- Of the owned: what slots have beyond that.
    tuple_table_bytes  -- Of the owned: pointer tables of tuples.
FROM intermediate.owned_slots
WHERE moment = 'memory space peak'
