-- The highest points of the occupied and the listed timeline of each memory space.
-- grain: dump_id, memory_space
-- materialized: incremental by dump_id
WITH timeline AS (
    SELECT
        dump_id,
        memory_space,
        position_in_schedule,
        SUM(occupied_change_bytes) OVER running AS occupied_bytes,
        SUM(listed_change_bytes) OVER running AS listed_bytes,
        -- The timeline stays at this height until something changes again; at the end nothing is alive.
        LEAD(position_in_schedule, 1, position_in_schedule) OVER running
        - position_in_schedule AS lasting_positions
    FROM intermediate.space_changes
    WINDOW running AS (PARTITION BY dump_id, memory_space ORDER BY position_in_schedule)
),

ranked AS (
    SELECT
        *,
        SUM(lasting_positions) OVER (PARTITION BY dump_id, memory_space, occupied_bytes) AS tied_positions,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, memory_space ORDER BY occupied_bytes DESC, position_in_schedule ASC
        ) AS occupied_rank,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, memory_space ORDER BY listed_bytes DESC, position_in_schedule ASC
        ) AS listed_rank
    FROM timeline
)

SELECT
    o.dump_id,  -- The dump.
    o.memory_space,  -- Memory space of the allocation.
    CAST(o.occupied_bytes AS BIGINT) AS occupied_peak_bytes,  -- Most bytes in the union of live slots.
    CASE
        WHEN o.occupied_bytes > 0 THEN o.position_in_schedule
    END AS occupied_peak_position,  -- First position of that.
    CASE
        WHEN o.occupied_bytes > 0 THEN CAST(o.tied_positions AS BIGINT)
    END AS occupied_peak_position_count,  -- Positions at which that much is occupied.
    CAST(l.listed_bytes AS BIGINT) AS listed_peak_bytes,  -- Most listed bytes.
    CASE WHEN l.listed_bytes > 0 THEN l.position_in_schedule END AS listed_peak_position  -- First position of that.
FROM ranked AS o
INNER JOIN ranked AS l ON o.dump_id = l.dump_id AND o.memory_space = l.memory_space
WHERE o.occupied_rank = 1 AND l.listed_rank = 1
