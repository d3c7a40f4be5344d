-- The values alive at a peak, each byte with one owner: the value that starts last, then the lowest id.
-- element + layout padding + slack + tuple table = owned, and what is owned sums to the occupied bytes of the moment.
-- grain: dump_id, value_id, moment
WITH given_up AS (
    -- At the instant they share, a value that ends leaves the shared bytes to the one that starts.
    SELECT
        dump_id,
        ending_value_id,
        touching_position,
        SUM(shared_bytes) AS shared_bytes
    FROM intermediate.touching_slots
    GROUP BY dump_id, ending_value_id, touching_position
),

owned AS (
    SELECT
        a.*,
        CASE
            WHEN a.has_strict_overlap THEN COALESCE(w.owned_bytes, 0)
            ELSE a.size_bytes - COALESCE(g.shared_bytes, 0)
        END AS owned_bytes
    FROM intermediate.alive_slots AS a
    LEFT JOIN given_up AS g
        ON a.dump_id = g.dump_id AND a.value_id = g.ending_value_id AND a.position_in_schedule = g.touching_position
    LEFT JOIN intermediate.swept_owners AS w
        ON a.dump_id = w.dump_id AND a.value_id = w.owner_value_id AND a.moment = w.moment
),

-- A value that owns only part of its slot keeps elements first, then padding, then slack.
parts AS (
    SELECT
        *,
        LEAST(owned_bytes, element_bytes) AS owned_element_bytes,
        -- A shape that is split over cores (SC) takes fewer bytes on each core than its elements, so it has no padding.
        GREATEST(LEAST(owned_bytes - LEAST(owned_bytes, element_bytes), layout_padding_bytes), 0)
            AS owned_padding_bytes,
        LEAST(owned_bytes, tuple_table_bytes) AS owned_table_bytes
    FROM owned
)

SELECT
    dump_id,  -- The dump.
    value_id,  -- A value alive at the moment.
    moment,  -- Whose peak: memory space peak or allocation peak.
    position_in_schedule,  -- First position of that peak.
    memory_space,  -- Memory space of the allocation.
    allocation_index,  -- The allocation.
    kind,  -- parameter, output, constant or temp.
    size_bytes,  -- The value's slot, in bytes.
    CAST(owned_bytes AS BIGINT) AS owned_bytes,  -- Bytes of the slot that belong to this value and to no other.
    CAST(owned_element_bytes AS BIGINT) AS element_bytes,  -- Of the owned: elements.
    CAST(owned_padding_bytes AS BIGINT) AS layout_padding_bytes,  -- Of the owned: what tiles add.
    CAST(
        owned_bytes - owned_element_bytes - owned_padding_bytes - owned_table_bytes AS BIGINT
    ) AS slack_bytes,  -- Of the owned: what slots have beyond that.
    CAST(owned_table_bytes AS BIGINT) AS tuple_table_bytes  -- Of the owned: pointer tables of tuples.
FROM parts
