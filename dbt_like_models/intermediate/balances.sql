-- Where the bytes of an allocation go, at its own occupied peak, each byte once. Null without live ranges.
-- grain: dump_id, allocation_index
-- materialized: incremental by dump_id
WITH parts AS (
    SELECT
        a.dump_id,
        a.allocation_index,
        a.memory_space,
        a.kind,
        a.size_bytes,
        d.live_range_state IN ('present', 'unbounded') AS has_live_ranges,
        p.occupied_peak_position,
        COALESCE(p.occupied_peak_bytes, 0) AS occupied_bytes,
        COALESCE(l.element_bytes, 0) AS element_bytes,
        COALESCE(l.layout_padding_bytes, 0) AS layout_padding_bytes,
        COALESCE(l.slack_bytes, 0) AS slack_bytes,
        COALESCE(l.tuple_table_bytes, 0) AS tuple_table_bytes,
        -- Values that live inside instructions never occupy bytes, even if a dump gives them a range.
        CASE WHEN a.kind = 'thread-local' THEN 0 ELSE COALESCE(c.ranged_bytes, 0) END AS ranged_bytes,
        COALESCE(c.covered_bytes, 0) AS covered_bytes,
        COALESCE(c.air_bytes, 0) AS air_bytes
    FROM staging.allocation_sizes AS a
    INNER JOIN staging.contents AS d ON a.dump_id = d.dump_id
    LEFT JOIN intermediate.allocation_peaks AS p ON a.dump_id = p.dump_id AND a.allocation_index = p.allocation_index
    LEFT JOIN intermediate.allocation_parts AS l ON a.dump_id = l.dump_id AND a.allocation_index = l.allocation_index
    LEFT JOIN intermediate.covered_bytes AS c ON a.dump_id = c.dump_id AND a.allocation_index = c.allocation_index
)

SELECT
    dump_id,  -- The dump.
    allocation_index,  -- The allocation.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    kind,  -- parameter, output, constant, temp or thread-local.
    size_bytes,  -- Bytes reserved: the sum of the parts below.
    occupied_peak_position,  -- First position of the allocation's own occupied peak.
    CASE WHEN has_live_ranges THEN occupied_bytes END AS occupied_peak_bytes,  -- Its peak: the next four parts.
    CASE WHEN has_live_ranges THEN element_bytes END AS element_bytes,  -- Elements alive at the peak.
    CASE WHEN has_live_ranges THEN layout_padding_bytes END AS layout_padding_bytes,  -- What tiles add to them.
    CASE WHEN has_live_ranges THEN slack_bytes END AS slack_bytes,  -- What their slots have beyond that.
    CASE WHEN has_live_ranges THEN tuple_table_bytes END AS tuple_table_bytes,  -- Pointer tables of tuples alive then.
    CASE
        WHEN has_live_ranges THEN ranged_bytes - occupied_bytes
    END AS other_moments_bytes,  -- Bytes that only other moments use.
    CASE
        WHEN has_live_ranges THEN covered_bytes - ranged_bytes
    END AS without_live_range_bytes,  -- Bytes that only values without a live range use: all of thread-local ones.
    CASE
        WHEN has_live_ranges THEN air_bytes
    END AS stride_bytes,  -- Air between slots that stand at a constant stride (16 KiB under 512-byte tables on TPU).
    CASE
        WHEN has_live_ranges THEN size_bytes - covered_bytes - air_bytes
    END AS unused_bytes  -- Bytes that no value ever uses.
FROM parts
