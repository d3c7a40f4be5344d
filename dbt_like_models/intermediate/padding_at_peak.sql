-- The parts of the occupied peak, by kind of allocation; the parts of all kinds sum to the peak.
-- grain: dump_id, memory_space, kind
-- materialized: incremental by dump_id
SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    kind,  -- parameter, output, constant or temp.
    CAST(COUNT(*) AS BIGINT) AS value_count,  -- Values alive at the peak.
    CAST(SUM(size_bytes) AS BIGINT) AS slot_bytes,  -- Their whole slots; shared bytes count for each.
    CAST(SUM(owned_bytes) AS BIGINT) AS occupied_bytes,  -- Bytes occupied at the peak, each once.
    CAST(SUM(element_bytes) AS BIGINT) AS element_bytes,  -- Of these, elements.
    CAST(SUM(layout_padding_bytes) AS BIGINT) AS layout_padding_bytes,  -- Of these, what tiles add.
    CAST(SUM(slack_bytes) AS BIGINT) AS slack_bytes,  -- Of these, what slots have beyond that.
    CAST(SUM(tuple_table_bytes) AS BIGINT) AS tuple_table_bytes  -- Of these, pointer tables of tuples.
FROM intermediate.peak_owners
GROUP BY dump_id, memory_space, kind
