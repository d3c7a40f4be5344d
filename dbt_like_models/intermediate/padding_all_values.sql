-- The parts of the slots of all values, by kind of allocation. Values share bytes, so these sums are not bytes of memory.
-- grain: dump_id, memory_space, kind
-- materialized: incremental by dump_id
SELECT
    a.dump_id,  -- The dump.
    a.memory_space,  -- Memory space of the allocation.
    a.kind,  -- parameter, output, constant, temp or thread-local.
    CAST(COUNT(*) AS BIGINT) AS value_count,  -- Values.
    CAST(SUM(v.size_bytes) AS BIGINT) AS slot_bytes,  -- Their slots.
    CAST(SUM(v.element_bytes) AS BIGINT) AS element_bytes,  -- Of these, elements.
    CAST(SUM(v.layout_padding_bytes) AS BIGINT) AS layout_padding_bytes,  -- Of these, what tiles add.
    CAST(SUM(v.slack_bytes) AS BIGINT) AS slack_bytes,  -- Of these, what slots have beyond that; may be negative.
    CAST(SUM(v.tuple_table_bytes) AS BIGINT) AS tuple_table_bytes  -- Of these, pointer tables of tuples.
FROM staging.value_slots AS v
INNER JOIN staging.allocation_sizes AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
GROUP BY a.dump_id, a.memory_space, a.kind
