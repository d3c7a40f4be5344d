-- The memory timeline: what is occupied and listed at each position of the schedule, from 0 to the end of the program.
-- grain: dump_id, memory_space, schedule_position
WITH spaces AS (
    SELECT DISTINCT dump_id, memory_space FROM staging.allocations
),

instants AS (
    SELECT dump_id, schedule_position, instruction_id FROM staging.schedule
    UNION ALL
    -- One past the last line: the end of the program, up to which its outputs live.
    SELECT dump_id, max_position, NULL FROM staging.dumps
    WHERE max_position IS NOT NULL
),

changes AS (
    SELECT dump_id, memory_space, position_in_schedule, change_bytes AS occupied, 0 AS listed, 0 AS buffers
    FROM intermediate.occupied_changes
    UNION ALL
    SELECT dump_id, memory_space, position_in_schedule, 0, change_bytes, 0 FROM intermediate.listed_changes
    UNION ALL
    SELECT dump_id, memory_space, start_position, 0, 0, 1 FROM intermediate.slots
    UNION ALL
    SELECT dump_id, memory_space, end_position + 1, 0, 0, -1 FROM intermediate.slots
    UNION ALL
    SELECT s.dump_id, s.memory_space, i.schedule_position, 0, 0, 0
    FROM spaces AS s
    INNER JOIN instants AS i ON s.dump_id = i.dump_id
),

summed AS (
    SELECT
        dump_id,
        memory_space,
        position_in_schedule,
        SUM(occupied) AS occupied,
        SUM(listed) AS listed,
        SUM(buffers) AS buffers
    FROM changes
    GROUP BY dump_id, memory_space, position_in_schedule
),

timeline AS (
    SELECT
        dump_id,
        memory_space,
        position_in_schedule,
        SUM(occupied) OVER running AS occupied_bytes,
        SUM(listed) OVER running AS listed_bytes,
        SUM(buffers) OVER running AS buffer_count
    FROM summed
    WINDOW running AS (PARTITION BY dump_id, memory_space ORDER BY position_in_schedule)
)

SELECT
    t.dump_id,  -- The dump.
    t.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    t.position_in_schedule AS schedule_position,  -- Position in the schedule; the last one is the end of the program.
    CAST(t.occupied_bytes AS BIGINT) AS occupied_bytes,  -- Bytes in the union of live slots.
    CAST(t.listed_bytes AS BIGINT) AS listed_bytes,  -- Logical bytes alive, aliases counted twice, as XLA counts.
    CAST(t.buffer_count AS BIGINT) AS buffer_count,  -- Values alive.
    n.instruction_name  -- The instruction that runs there; null at the end of the program.
FROM timeline AS t
INNER JOIN instants AS i ON t.dump_id = i.dump_id AND t.position_in_schedule = i.schedule_position
LEFT JOIN staging.schedule AS n ON i.dump_id = n.dump_id AND i.schedule_position = n.schedule_position
