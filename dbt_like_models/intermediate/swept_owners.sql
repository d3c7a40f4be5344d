-- How many bytes each value owns at the moments of the allocations with strict overlap.
-- grain: dump_id, owner_value_id, moment
WITH last_instants AS (
    -- The moment may lie between two instants of the allocation: the last one before it holds.
    SELECT
        a.dump_id,
        a.allocation_index,
        a.moment,
        MAX(i.position_in_schedule) AS position_in_schedule
    FROM intermediate.moments AS a
    INNER JOIN intermediate.sweep_instants AS i
        ON
            a.dump_id = i.dump_id
            AND a.allocation_index = i.allocation_index
            AND a.position_in_schedule >= i.position_in_schedule
    GROUP BY a.dump_id, a.allocation_index, a.moment
)

SELECT
    s.dump_id,  -- The dump.
    s.owner_value_id,  -- A value that owns something at the moment.
    l.moment,  -- Whose peak: memory space peak or allocation peak.
    CAST(SUM(s.segment_bytes) AS BIGINT) AS owned_bytes  -- What it owns.
FROM last_instants AS l
INNER JOIN intermediate.swept_segments AS s
    ON
        l.dump_id = s.dump_id
        AND l.allocation_index = s.allocation_index
        AND l.position_in_schedule = s.position_in_schedule
GROUP BY s.dump_id, s.owner_value_id, l.moment
