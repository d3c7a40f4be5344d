-- Allocations whose values share bytes in more than passing: which address segment is taken at which position.
-- Only those with has_strict_overlap are here; an elementary segment lies between two neighbouring slot borders.
-- grain: dump_id, allocation_index, segment_start_bytes, position_in_schedule
WITH slots AS (
    SELECT * FROM intermediate.slots
    WHERE has_strict_overlap AND size_bytes > 0
),

borders AS (
    SELECT dump_id, allocation_index, offset_bytes AS border_bytes FROM slots
    UNION
    SELECT dump_id, allocation_index, offset_bytes + size_bytes AS border_bytes FROM slots
),

segments AS (
    SELECT
        dump_id,
        allocation_index,
        border_bytes AS segment_start_bytes,
        LEAD(border_bytes) OVER (PARTITION BY dump_id, allocation_index ORDER BY border_bytes) AS segment_end_bytes
    FROM borders
),

instants AS (
    SELECT dump_id, allocation_index, start_position AS instant FROM slots
    UNION
    SELECT dump_id, allocation_index, end_position + 1 AS instant FROM slots
),

ranked AS (
    SELECT
        s.dump_id,
        s.memory_space,
        s.allocation_index,
        g.segment_start_bytes,
        g.segment_end_bytes - g.segment_start_bytes AS segment_bytes,
        t.instant,
        s.value_id,
        ROW_NUMBER() OVER (
            PARTITION BY s.dump_id, s.allocation_index, g.segment_start_bytes, t.instant
            ORDER BY s.start_position DESC, s.value_id ASC
        ) AS claim
    FROM slots AS s
    INNER JOIN segments AS g
        ON
            s.dump_id = g.dump_id
            AND s.allocation_index = g.allocation_index
            AND s.offset_bytes <= g.segment_start_bytes
            AND s.offset_bytes + s.size_bytes >= g.segment_end_bytes
    INNER JOIN instants AS t
        ON
            s.dump_id = t.dump_id
            AND s.allocation_index = t.allocation_index
            AND t.instant BETWEEN s.start_position AND s.end_position
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space of the allocation.
    allocation_index,  -- The allocation.
    segment_start_bytes,  -- Where the segment begins.
    segment_bytes,  -- Its length.
    instant AS position_in_schedule,  -- Position at which something starts or has just ended.
    value_id AS owner_value_id  -- The value that owns the segment then: the one that starts last, then the lowest id.
FROM ranked
WHERE claim = 1
