-- How much larger an allocation of temporaries is than the bytes ever alive in it at one moment.
-- The occupied peak is a lower bound given XLA's own in-place sharing, not a packing optimum.
-- grain: dump_id, allocation_index
-- portable: yes
SELECT
    dump_id,  -- The dump.
    allocation_index,  -- The allocation, one of kind temp.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_bytes,  -- Bytes reserved.
    occupied_peak_bytes,  -- Most bytes in the union of live slots; null without live ranges.
    occupied_peak_position,  -- First position of that.
    size_bytes - occupied_peak_bytes AS gap_bytes,  -- Bytes reserved beyond the lower bound.
    stride_bytes,  -- Of the gap: air between slots at a constant stride.
    unused_bytes  -- Of the gap: bytes that no value ever uses.
FROM intermediate.balances
WHERE kind = 'temp'
