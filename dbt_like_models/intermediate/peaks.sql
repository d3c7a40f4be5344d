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

-- A join, because ranking each timeline takes several times as long.
highest AS (
    SELECT
        dump_id,
        memory_space,
        MAX(occupied_bytes) AS occupied_bytes,
        MAX(listed_bytes) AS listed_bytes
    FROM timeline
    GROUP BY dump_id, memory_space
)

SELECT
    t.dump_id,  -- The dump.
    t.memory_space,  -- Memory space of the allocation.
    CAST(MAX(h.occupied_bytes) AS BIGINT) AS occupied_peak_bytes,  -- Most bytes in the union of live slots.
    MIN(
        CASE WHEN t.occupied_bytes = h.occupied_bytes AND h.occupied_bytes > 0 THEN t.position_in_schedule END
    ) AS occupied_peak_position,  -- First position of that.
    CAST(
        SUM(CASE WHEN t.occupied_bytes = h.occupied_bytes AND h.occupied_bytes > 0 THEN t.lasting_positions END)
        AS BIGINT
    ) AS occupied_peak_position_count,  -- Positions at which that much is occupied.
    CAST(MAX(h.listed_bytes) AS BIGINT) AS listed_peak_bytes,  -- Most listed bytes.
    MIN(
        CASE WHEN t.listed_bytes = h.listed_bytes AND h.listed_bytes > 0 THEN t.position_in_schedule END
    ) AS listed_peak_position  -- First position of that.
FROM timeline AS t
INNER JOIN highest AS h ON t.dump_id = h.dump_id AND t.memory_space = h.memory_space
GROUP BY t.dump_id, t.memory_space
