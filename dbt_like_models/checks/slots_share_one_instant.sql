-- Values share bytes at one instant at most, where one ends and the other starts (BufferAssigner::MaybeAssignBuffer,
-- HloOrdering::LiveRangeStrictlyBefore). Operands of a conditional in VMEM break it (libtpu 0.0.51): their bytes are
-- used again inside a branch. In an allocation with strict overlap many values may just meet at one instant: legal.
-- severity: warn
WITH reaches AS (
    SELECT
        s.dump_id,
        s.value_id,
        s.allocation_index,
        s.start_position,
        -- In a segment, by start and end: who starts before another has ended shares more than an instant with it.
        MAX(s.end_position) OVER (
            PARTITION BY s.dump_id, s.allocation_index, g.segment_start_bytes
            ORDER BY s.start_position, s.end_position, s.value_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_position
    FROM intermediate.slots AS s
    INNER JOIN intermediate.address_segments AS g
        ON
            s.dump_id = g.dump_id
            AND s.allocation_index = g.allocation_index
            AND s.offset_bytes <= g.segment_start_bytes
            AND s.offset_bytes + s.size_bytes >= g.segment_end_bytes
    WHERE s.has_strict_overlap AND s.size_bytes > 0
)

SELECT
    dump_id,  -- The dump.
    'bytes of allocation ' || CAST(allocation_index AS VARCHAR) || ' free from '
    || CAST(MIN(start_position) AS VARCHAR) AS expected,  -- When a value starts.
    'value ' || CAST(value_id AS VARCHAR) || ' in bytes taken until ' || CAST(MAX(reached_position) AS VARCHAR)
        AS found  -- The value, and until when another holds some of its bytes.
FROM reaches
WHERE reached_position > start_position
GROUP BY dump_id, allocation_index, value_id
