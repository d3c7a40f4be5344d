-- How many bytes each value owns at the moments of the allocations with strict overlap: of a segment the value that
-- starts last, then the lowest id.
-- grain: dump_id, owner_value_id, moment
WITH ranked AS (
    SELECT
        s.dump_id,
        s.value_id,
        s.segment_bytes,
        m.moment,
        ROW_NUMBER() OVER (
            PARTITION BY s.dump_id, s.allocation_index, s.segment_start_bytes, m.moment
            ORDER BY s.start_position DESC, s.value_id ASC
        ) AS claim
    FROM intermediate.swept_slots AS s
    INNER JOIN intermediate.moments AS m ON s.dump_id = m.dump_id AND s.allocation_index = m.allocation_index
    WHERE m.position_in_schedule BETWEEN s.start_position AND s.end_position
)

SELECT
    dump_id,  -- The dump.
    value_id AS owner_value_id,  -- A value that owns something at the moment.
    moment,  -- Whose peak: memory space peak or allocation peak.
    CAST(SUM(segment_bytes) AS BIGINT) AS owned_bytes  -- What it owns.
FROM ranked
WHERE claim = 1
GROUP BY dump_id, value_id, moment
