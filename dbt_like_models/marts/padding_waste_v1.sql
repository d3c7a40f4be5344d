-- The padding in memory: the parts of slots by kind of allocation, at the occupied peak and over all values.
-- At the peak: element + layout padding + slack + tuple table = occupied, and all kinds sum to the occupied peak.
-- Without live ranges the peak is not known, and its parts are null.
-- grain: dump_id, memory_space, kind
-- portable: yes
WITH dumps AS (
    SELECT
        dump_id,
        -- What a kind that is not alive at the peak takes there.
        CASE WHEN live_range_state IN ('present', 'unbounded') THEN 0 END AS nothing
    FROM staging.dumps
)

SELECT
    r.dump_id,  -- The dump.
    r.memory_space,  -- Memory space of the allocation; 0 is the default (HBM on TPU).
    r.kind,  -- parameter, output, constant, temp or thread-local.
    r.allocation_count,  -- Allocations.
    r.reserved_bytes,  -- Their sizes.
    COALESCE(p.value_count, d.nothing) AS value_count,  -- Values alive at the occupied peak of the memory space.
    COALESCE(p.slot_bytes, d.nothing) AS slot_bytes,  -- Their whole slots; bytes shared in passing count for each.
    COALESCE(p.occupied_bytes, d.nothing) AS occupied_bytes,  -- Bytes they occupy, each counted once.
    COALESCE(p.element_bytes, d.nothing) AS element_bytes,  -- Of the occupied: elements (logical bytes).
    COALESCE(p.layout_padding_bytes, d.nothing) AS layout_padding_bytes,  -- Of the occupied: what tiles add.
    COALESCE(p.slack_bytes, d.nothing) AS slack_bytes,  -- Of the occupied: alias sets and alignment; on CPU all waste is slack.
    COALESCE(p.tuple_table_bytes, d.nothing) AS tuple_table_bytes,  -- Of the occupied: pointer tables of tuples.
    COALESCE(v.value_count, 0) AS value_count_all_values,  -- All values, whether they live at the peak or not.
    COALESCE(v.slot_bytes, 0) AS slot_bytes_all_values,  -- Their slots. Values share bytes: never memory.
    COALESCE(v.element_bytes, 0) AS element_bytes_all_values,  -- Of these, elements.
    COALESCE(v.layout_padding_bytes, 0) AS layout_padding_bytes_all_values,  -- Of these, what tiles add.
    COALESCE(v.slack_bytes, 0) AS slack_bytes_all_values,  -- Of these, slack; may be negative.
    COALESCE(v.tuple_table_bytes, 0) AS tuple_table_bytes_all_values  -- Of these, pointer tables of tuples.
FROM intermediate.reserved AS r
INNER JOIN dumps AS d ON r.dump_id = d.dump_id
LEFT JOIN intermediate.padding_at_peak AS p
    ON r.dump_id = p.dump_id AND r.memory_space = p.memory_space AND r.kind = p.kind
LEFT JOIN intermediate.padding_all_values AS v
    ON r.dump_id = v.dump_id AND r.memory_space = v.memory_space AND r.kind = v.kind
