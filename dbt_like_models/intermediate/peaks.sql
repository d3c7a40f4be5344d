-- The highest points of the occupied and the listed timeline of each memory space.
-- grain: dump_id, memory_space
-- materialized: incremental by dump_id
WITH occupied AS (
    SELECT
        dump_id,
        memory_space,
        position_in_schedule,
        SUM(change_bytes) OVER (
            PARTITION BY dump_id, memory_space ORDER BY position_in_schedule
        ) AS alive_bytes,
        -- The timeline stays at this height until something changes again; at the end nothing is alive.
        LEAD(position_in_schedule, 1, position_in_schedule) OVER (
            PARTITION BY dump_id, memory_space ORDER BY position_in_schedule
        ) - position_in_schedule AS lasting_positions
    FROM intermediate.occupied_changes
),

listed AS (
    SELECT
        dump_id,
        memory_space,
        position_in_schedule,
        SUM(change_bytes) OVER (
            PARTITION BY dump_id, memory_space ORDER BY position_in_schedule
        ) AS alive_bytes
    FROM intermediate.listed_changes
),

occupied_ranked AS (
    SELECT
        *,
        SUM(lasting_positions) OVER (PARTITION BY dump_id, memory_space, alive_bytes) AS tied_positions,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, memory_space ORDER BY alive_bytes DESC, position_in_schedule ASC
        ) AS height
    FROM occupied
),

listed_ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, memory_space ORDER BY alive_bytes DESC, position_in_schedule ASC
        ) AS height
    FROM listed
)

SELECT
    o.dump_id,  -- The dump.
    o.memory_space,  -- Memory space of the allocation.
    CAST(o.alive_bytes AS BIGINT) AS occupied_peak_bytes,  -- Most bytes in the union of live slots.
    CASE WHEN o.alive_bytes > 0 THEN o.position_in_schedule END AS occupied_peak_position,  -- First position of that.
    CASE
        WHEN o.alive_bytes > 0 THEN CAST(o.tied_positions AS BIGINT)
    END AS occupied_peak_position_count,  -- Positions at which that much is occupied.
    CAST(l.alive_bytes AS BIGINT) AS listed_peak_bytes,  -- Most listed bytes.
    CASE WHEN l.alive_bytes > 0 THEN l.position_in_schedule END AS listed_peak_position  -- First position of that.
FROM occupied_ranked AS o
INNER JOIN listed_ranked AS l ON o.dump_id = l.dump_id AND o.memory_space = l.memory_space
WHERE o.height = 1 AND l.height = 1
