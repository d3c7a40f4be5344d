-- How much larger an allocation of temporaries is than it had to be: than the bytes ever alive in it at one moment, and
-- than the smallest placement of its values that was found. The lower bound counts what XLA itself does: alignment, and
-- slots in the place of others. `bufferhouse pack` looks for placements; where it has not looked, its columns are null.
-- grain: dump_id, allocation_index
-- portable: yes
SELECT
    b.dump_id,  -- The dump.
    b.allocation_index,  -- The allocation, one of kind temp.
    b.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    b.size_bytes,  -- Bytes reserved.
    b.occupied_peak_bytes,  -- Most bytes in the union of live slots; null without live ranges.
    b.occupied_peak_position,  -- First position of that.
    b.size_bytes - b.occupied_peak_bytes AS gap_bytes,  -- Bytes reserved beyond that.
    b.stride_bytes,  -- Of the gap: air between slots at a constant stride.
    b.unused_bytes,  -- Of the gap: bytes that no value ever uses.
    p.lower_bound_bytes,  -- Most bytes alive at once, aligned: no placement takes fewer.
    p.packed_bytes,  -- Bytes of the smallest placement that was found; null if none was looked for.
    b.size_bytes - p.packed_bytes AS savable_bytes,  -- What a perfect packer saves, at least.
    p.packed_bytes - p.lower_bound_bytes AS unproved_bytes,  -- What it might save beyond that; 0 where it is proved.
    p.packer,  -- Who found the placement: xla, best fit or omnimalloc.
    p.is_cut_short  -- The search was cut short while it was above the bound.
FROM intermediate.balances AS b
LEFT JOIN staging.packings AS p ON b.dump_id = p.dump_id AND b.allocation_index = p.allocation_index
WHERE b.kind = 'temp'
