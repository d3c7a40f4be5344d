-- How much memory a program takes: reserved, occupied and listed bytes, beside the peak that XLA prints.
-- grain: dump_id, memory_space
-- portable: yes
SELECT
    r.dump_id,  -- The dump.
    r.memory_space,  -- Memory space of the allocation; 0 is the default (HBM on TPU).
    r.reserved_bytes,  -- Sum of allocation sizes, without thread-local ones.
    r.thread_local_bytes,  -- Thread-local allocations: taken once per thread.
    r.occupied_peak_bytes,  -- Most bytes in the union of live slots; null without live ranges.
    p.occupied_peak_position,  -- First schedule position of the occupied peak.
    p.occupied_peak_position_count,  -- Positions at which as much is occupied, ties included.
    CASE
        WHEN d.live_range_state IN ('present', 'unbounded') THEN COALESCE(p.listed_peak_bytes, 0)
    END AS listed_peak_bytes,  -- Most logical bytes alive in this space, aliases counted twice, as XLA counts.
    p.listed_peak_position,  -- First schedule position of the listed peak of this space.
    CASE
        WHEN d.live_range_state IN ('present', 'unbounded') THEN COALESCE(l.listed_peak_bytes, 0)
    END AS dump_listed_peak_bytes,  -- The same over all memory spaces of the dump, as XLA mixes them.
    l.listed_peak_position AS dump_listed_peak_position,  -- First schedule position of that.
    d.reported_peak_position AS dump_reported_peak_position,  -- Position XLA prints as `(peak)`, for all spaces together.
    d.reported_peak_bytes AS dump_reported_peak_bytes,  -- Sum of the bytes XLA lists there, as printed; before jaxlib 0.6.0 they are those of whole instructions.
    COALESCE(
        l.listed_peak_bytes > l.listed_at_reported_peak_bytes, FALSE
    ) AS has_other_reported_peak  -- Whether more listed bytes are alive elsewhere than where XLA prints its peak; false where that is not known, too.
FROM intermediate.space_totals AS r
INNER JOIN staging.dumps AS d ON r.dump_id = d.dump_id
LEFT JOIN intermediate.peaks AS p ON r.dump_id = p.dump_id AND r.memory_space = p.memory_space
LEFT JOIN intermediate.listed_peaks AS l ON r.dump_id = l.dump_id
