-- Where the bytes of some dumps go, by kind of allocation: each taken apart at its own occupied peak. The parts sum to the
-- size; they are null without live ranges. Thread-local allocations are taken once per thread and stand apart.
-- grain: dump_id, memory_space, kind
-- parameters: dump_ids
SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    kind,  -- parameter, output, constant, temp or thread-local.
    COUNT(*) AS allocation_count,  -- Allocations.
    CAST(SUM(size_bytes) AS BIGINT) AS size_bytes,  -- Bytes reserved: the sum of the eight parts below.
    CAST(SUM(element_bytes) AS BIGINT) AS element_bytes,  -- Elements alive at the peak.
    CAST(SUM(layout_padding_bytes) AS BIGINT) AS layout_padding_bytes,  -- What tiles add to them.
    CAST(SUM(slack_bytes) AS BIGINT) AS slack_bytes,  -- Alias sets, alignment.
    CAST(SUM(tuple_table_bytes) AS BIGINT) AS tuple_table_bytes,  -- Pointer tables of tuples.
    CAST(SUM(other_moments_bytes) AS BIGINT) AS other_moments_bytes,  -- Bytes that only other moments use.
    CAST(SUM(without_live_range_bytes) AS BIGINT)
        AS without_live_range_bytes,  -- Bytes that only values without a live range use.
    CAST(SUM(stride_bytes) AS BIGINT) AS stride_bytes,  -- Air between slots at a constant stride.
    CAST(SUM(unused_bytes) AS BIGINT) AS unused_bytes  -- Bytes that no value ever uses.
FROM marts.allocation_balance_v1
WHERE dump_id IN ($dump_ids)
GROUP BY dump_id, memory_space, kind
ORDER BY dump_id ASC, memory_space ASC, size_bytes DESC, kind ASC
