-- Who is alive at a peak, each byte with one owner: the value that starts last, then the lowest id.
-- element + layout padding + slack + tuple table = owned, and what is owned sums to the occupied bytes of the moment.
-- grain: dump_id, value_id, moment
WITH alive AS (
    SELECT
        s.*,
        m.moment,
        m.position_in_schedule
    FROM intermediate.slots AS s
    INNER JOIN intermediate.moments AS m ON s.dump_id = m.dump_id AND s.allocation_index = m.allocation_index
    WHERE m.position_in_schedule BETWEEN s.start_position AND s.end_position
),

-- At that instant a value that ends leaves the shared bytes to the one that starts.
given_up AS (
    SELECT
        a.dump_id,
        a.value_id,
        a.moment,
        SUM(t.shared_bytes) AS shared_bytes
    FROM alive AS a
    INNER JOIN intermediate.touching_slots AS t
        ON
            a.dump_id = t.dump_id
            AND a.value_id = t.ending_value_id
            AND a.position_in_schedule = t.touching_position
    GROUP BY a.dump_id, a.value_id, a.moment
),

-- The moment may lie between two instants of an allocation that is swept: the last one before it holds.
last_instant AS (
    SELECT
        a.dump_id,
        a.allocation_index,
        a.moment,
        MAX(s.position_in_schedule) AS instant
    FROM alive AS a
    INNER JOIN intermediate.swept_segments AS s
        ON
            a.dump_id = s.dump_id
            AND a.allocation_index = s.allocation_index
            AND a.position_in_schedule >= s.position_in_schedule
    WHERE a.has_strict_overlap
    GROUP BY a.dump_id, a.allocation_index, a.moment
),

swept AS (
    SELECT
        s.dump_id,
        s.owner_value_id,
        l.moment,
        SUM(s.segment_bytes) AS owned_bytes
    FROM last_instant AS l
    INNER JOIN intermediate.swept_segments AS s
        ON
            l.dump_id = s.dump_id
            AND l.allocation_index = s.allocation_index
            AND l.instant = s.position_in_schedule
    GROUP BY s.dump_id, s.owner_value_id, l.moment
),

owned AS (
    SELECT
        a.*,
        CASE
            WHEN a.has_strict_overlap THEN COALESCE(w.owned_bytes, 0)
            ELSE a.size_bytes - COALESCE(g.shared_bytes, 0)
        END AS owned_bytes
    FROM alive AS a
    LEFT JOIN given_up AS g ON a.dump_id = g.dump_id AND a.value_id = g.value_id AND a.moment = g.moment
    LEFT JOIN swept AS w ON a.dump_id = w.dump_id AND a.value_id = w.owner_value_id AND a.moment = w.moment
),

-- A value that owns only part of its slot keeps elements first, then padding, then slack.
parts AS (
    SELECT
        *,
        LEAST(owned_bytes, element_bytes) AS owned_element_bytes,
        -- A shape that is split over cores (SC) is less on each of them than its elements: there is no padding then.
        GREATEST(
            LEAST(owned_bytes - LEAST(owned_bytes, element_bytes), layout_padding_bytes), 0
        ) AS owned_padding_bytes,
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
