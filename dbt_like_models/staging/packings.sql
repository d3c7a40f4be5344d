-- How tightly allocations of temporaries can be packed, for those that `bufferhouse pack` has packed.
-- grain: dump_id, allocation_index
SELECT
    dump_id,  -- The dump.
    allocation_index,  -- The allocation.
    MAX(alignment_bytes) AS alignment_bytes,  -- What offsets in it are multiples of.
    MAX(lower_bound_bytes) AS lower_bound_bytes,  -- No placement takes fewer bytes.
    MIN(packed_bytes) AS packed_bytes,  -- The smallest placement that was found.
    MIN_BY(packer, packed_bytes) AS packer,  -- Who found it: xla, best fit or omnimalloc.
    MIN_BY(is_cut_short, packed_bytes) AS is_cut_short  -- The search was cut short above the bound.
FROM raw.packings
GROUP BY dump_id, allocation_index
