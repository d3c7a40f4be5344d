-- Values that are moved out of a memory space and copied back into it, such as activations that are offloaded to the host,
-- and the bytes that this takes off the occupied peak of the space: the bytes that would be occupied if the value had stayed
-- while it is away, with the same schedule and all else unchanged, minus the bytes that are occupied.
-- grain: dump_id, value_id
WITH timeline AS (
    SELECT
        dump_id,
        memory_space,
        position_in_schedule,
        SUM(occupied_change_bytes) OVER running AS occupied_bytes,
        -- It stays at this height until something changes again.
        LEAD(position_in_schedule) OVER running AS next_position
    FROM intermediate.space_changes
    WINDOW running AS (PARTITION BY dump_id, memory_space ORDER BY position_in_schedule)
),

-- The most that is occupied at one moment while it is away.
occupied AS (
    SELECT
        r.dump_id,
        r.value_id,
        MAX(t.occupied_bytes) AS occupied_bytes
    FROM intermediate.space_returns AS r
    INNER JOIN timeline AS t
        ON
            r.dump_id = t.dump_id
            AND r.memory_space = t.memory_space
            AND t.position_in_schedule < r.return_position
            AND t.next_position > r.away_from_position
    WHERE r.away_from_position < r.return_position
    GROUP BY r.dump_id, r.value_id
)

SELECT
    r.dump_id,  -- The dump.
    r.value_id,  -- The copy in the other space.
    r.return_value_id,  -- The first copy that is made of it in the space where it was.
    r.return_instruction_name,  -- Instruction that defines this one.
    r.return_position,  -- First position at which this one is alive.
    GREATEST(r.return_position - r.away_from_position, 0) AS away_position_count,  -- Positions at which it is in the other space alone.
    CAST(GREATEST(COALESCE(o.occupied_bytes + r.size_bytes - p.occupied_peak_bytes, 0), 0) AS BIGINT)
        AS saved_bytes  -- Bytes off the occupied peak of the space where it was.
FROM intermediate.space_returns AS r
INNER JOIN intermediate.peaks AS p ON r.dump_id = p.dump_id AND r.memory_space = p.memory_space
LEFT JOIN occupied AS o ON r.dump_id = o.dump_id AND r.value_id = o.value_id
