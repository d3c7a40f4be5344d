-- Where the bytes of an allocation go, at its own occupied peak; no byte is counted twice, and the parts sum exactly:
-- size = element + layout padding + slack + tuple table + other moments + without live range + stride + unused.
-- Null parts where the dump has no live ranges.
-- grain: dump_id, allocation_index
-- portable: yes
SELECT
    dump_id,  -- The dump.
    allocation_index,  -- The allocation.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    kind,  -- parameter, output, constant, temp or thread-local.
    size_bytes,  -- Bytes reserved: the sum of the eight parts below.
    occupied_peak_position,  -- First position of the allocation's own occupied peak.
    occupied_peak_bytes,  -- Its occupied peak: the next four parts.
    element_bytes,  -- Elements alive at the peak.
    layout_padding_bytes,  -- What tiles add to them.
    slack_bytes,  -- What their slots have beyond that: alias sets, alignment.
    tuple_table_bytes,  -- Pointer tables of tuples alive then.
    other_moments_bytes,  -- Bytes that only other moments use.
    without_live_range_bytes,  -- Bytes that only values without a live range use: all of thread-local allocations.
    stride_bytes,  -- Air between slots that stand at a constant stride (16 KiB under 512-byte tables on TPU).
    unused_bytes  -- Bytes that no value ever uses.
FROM intermediate.balances
