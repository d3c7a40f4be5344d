-- All values with the source of their padding, and the padding that they own at the occupied peak.
-- Without live ranges the peak is not known, and the bytes owned there are null.
-- grain: dump_id, value_id
WITH dumps AS (
    SELECT
        dump_id,
        -- What a value that is not alive at the peak owns there.
        CASE WHEN live_range_state IN ('present', 'unbounded') THEN 0 END AS nothing
    FROM staging.contents
)

SELECT
    v.dump_id,  -- The dump.
    v.value_id,  -- Id of the value.
    a.memory_space,  -- Memory space of the allocation.
    a.kind,  -- parameter, output, constant, temp or thread-local.
    v.element_type,  -- Element type; null for a tuple.
    v.layout,  -- Minor-to-major order.
    v.tiles,  -- Tiles of the layout; null without.
    v.instruction_text_id,  -- Text of its instruction.
    v.size_bytes,  -- Its slot, in bytes.
    v.element_bytes,  -- Of the slot: elements.
    v.layout_padding_bytes,  -- Of the slot: what tiles add.
    v.slack_bytes,  -- Of the slot: what it has beyond that.
    COALESCE(o.owned_bytes, d.nothing) AS peak_occupied_bytes,  -- Bytes it owns at the occupied peak.
    COALESCE(o.element_bytes, d.nothing) AS peak_element_bytes,  -- Of these, elements.
    COALESCE(o.layout_padding_bytes, d.nothing) AS peak_layout_padding_bytes,  -- Of these, what tiles add.
    COALESCE(o.slack_bytes, d.nothing) AS peak_slack_bytes  -- Of these, slack.
FROM staging.hlo_values AS v
INNER JOIN staging.allocation_sizes AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
INNER JOIN dumps AS d ON v.dump_id = d.dump_id
LEFT JOIN intermediate.peak_owners AS o ON v.dump_id = o.dump_id AND v.value_id = o.value_id
