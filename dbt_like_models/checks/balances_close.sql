-- The parts of every allocation sum to its size, and none but slack is negative.
-- A slot that reaches beyond its allocation (a warning of its own) makes the unused bytes negative.
-- severity: error
SELECT
    b.dump_id,  -- The offending dump.
    CAST(b.size_bytes AS VARCHAR) || ' bytes in allocation ' || CAST(b.allocation_index AS VARCHAR)
        AS expected,  -- The size of the allocation.
    'parts ' || CAST(b.element_bytes AS VARCHAR) || ' + ' || CAST(b.layout_padding_bytes AS VARCHAR) || ' + '
    || CAST(b.slack_bytes AS VARCHAR) || ' + ' || CAST(b.tuple_table_bytes AS VARCHAR) || ' + '
    || CAST(b.other_moments_bytes AS VARCHAR) || ' + ' || CAST(b.without_live_range_bytes AS VARCHAR) || ' + '
    || CAST(b.stride_bytes AS VARCHAR) || ' + ' || CAST(b.unused_bytes AS VARCHAR) AS found  -- Its parts.
FROM intermediate.balances AS b
LEFT JOIN intermediate.overlong_allocations AS o
    ON b.dump_id = o.dump_id AND b.allocation_index = o.allocation_index
WHERE
    b.element_bytes + b.layout_padding_bytes + b.slack_bytes + b.tuple_table_bytes + b.other_moments_bytes
    + b.without_live_range_bytes + b.stride_bytes + b.unused_bytes <> b.size_bytes
    OR LEAST(
        b.element_bytes, b.layout_padding_bytes, b.tuple_table_bytes, b.other_moments_bytes,
        b.without_live_range_bytes, b.stride_bytes
    ) < 0
    OR (b.unused_bytes < 0 AND o.dump_id IS NULL)
