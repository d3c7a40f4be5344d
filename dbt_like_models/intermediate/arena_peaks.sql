-- What libtpu finds in the temporaries of memory space 0 when it tells their fragmentation: the most bytes of arrays
-- that are alive at one moment, and each tuple table, whenever it is alive.
-- grain: dump_id, allocation_index
WITH timeline AS (
    SELECT
        dump_id,
        allocation_index,
        SUM(change_bytes) OVER (
            PARTITION BY dump_id, allocation_index ORDER BY position_in_schedule
        ) AS alive_bytes
    FROM intermediate.array_changes
),

highest AS (
    SELECT dump_id, allocation_index, MAX(alive_bytes) AS array_bytes
    FROM timeline
    GROUP BY dump_id, allocation_index
),

-- A loop and its parts have one table.
places AS (
    SELECT dump_id, allocation_index, offset_bytes, MAX(size_bytes) AS size_bytes
    FROM intermediate.arena_tables
    GROUP BY dump_id, allocation_index, offset_bytes
),

tables AS (
    SELECT dump_id, allocation_index, SUM(size_bytes) AS table_bytes
    FROM places
    GROUP BY dump_id, allocation_index
)

SELECT
    b.dump_id,  -- The dump.
    b.allocation_index,  -- The allocation.
    CAST(
        -- No byte counts twice: an array may lie where a table was.
        LEAST(
            COALESCE(h.array_bytes + t.table_bytes, b.occupied_peak_bytes),
            b.occupied_peak_bytes + b.other_moments_bytes
        )
        + b.without_live_range_bytes AS BIGINT
    ) AS held_bytes  -- Arrays at their peak, tables, and what has no live range; null without live ranges.
FROM intermediate.balances AS b
LEFT JOIN highest AS h ON b.dump_id = h.dump_id AND b.allocation_index = h.allocation_index
LEFT JOIN tables AS t ON b.dump_id = t.dump_id AND b.allocation_index = t.allocation_index
WHERE b.kind = 'temp' AND b.memory_space = 0
