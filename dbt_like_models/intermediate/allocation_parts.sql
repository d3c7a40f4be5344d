-- What lives in an allocation at its own occupied peak, by part; each byte has one owner.
-- grain: dump_id, allocation_index
SELECT
    dump_id,  -- The dump.
    allocation_index,  -- The allocation.
    CAST(SUM(element_bytes) AS BIGINT) AS element_bytes,  -- Elements alive at the peak.
    CAST(SUM(layout_padding_bytes) AS BIGINT) AS layout_padding_bytes,  -- What tiles add to them.
    CAST(SUM(slack_bytes) AS BIGINT) AS slack_bytes,  -- What their slots have beyond that.
    CAST(SUM(tuple_table_bytes) AS BIGINT) AS tuple_table_bytes  -- Pointer tables of tuples.
FROM intermediate.owned_slots
WHERE moment = 'allocation peak'
GROUP BY dump_id, allocation_index
