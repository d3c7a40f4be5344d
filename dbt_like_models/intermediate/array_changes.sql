-- By how much the bytes that arrays cover in the temporaries of memory space 0 change, and where: the timeline of an
-- allocation without its tuple tables. Allocations without tables have no row.
-- grain: dump_id, allocation_index, position_in_schedule
WITH arenas AS (
    SELECT DISTINCT dump_id, allocation_index FROM intermediate.arena_tables
),

-- At the instant that a table shares with another value, the bytes of both are in the timeline once.
shared AS (
    SELECT t.dump_id, t.allocation_index, t.touching_position, t.shared_bytes
    FROM intermediate.touching_slots AS t
    LEFT JOIN intermediate.arena_tables AS x ON t.dump_id = x.dump_id AND t.ending_value_id = x.value_id
    LEFT JOIN intermediate.arena_tables AS y ON t.dump_id = y.dump_id AND t.starting_value_id = y.value_id
    WHERE x.value_id IS NOT NULL OR y.value_id IS NOT NULL
),

changes AS (
    SELECT c.dump_id, c.allocation_index, c.position_in_schedule AS instant, c.change_bytes
    FROM intermediate.allocation_changes AS c
    INNER JOIN arenas AS a ON c.dump_id = a.dump_id AND c.allocation_index = a.allocation_index
    UNION ALL
    SELECT dump_id, allocation_index, start_position, -size_bytes FROM intermediate.arena_tables
    UNION ALL
    SELECT dump_id, allocation_index, end_position + 1, size_bytes FROM intermediate.arena_tables
    UNION ALL
    SELECT dump_id, allocation_index, touching_position, shared_bytes FROM shared
    UNION ALL
    SELECT dump_id, allocation_index, touching_position + 1, -shared_bytes FROM shared
)

SELECT
    dump_id,  -- The dump.
    allocation_index,  -- The allocation.
    instant AS position_in_schedule,  -- Position at which the change takes effect.
    CAST(SUM(change_bytes) AS BIGINT) AS change_bytes  -- Bytes of arrays more, or fewer, than at the position before.
FROM changes
GROUP BY dump_id, allocation_index, instant
