-- The memory timeline: occupied and listed bytes at each position of the schedule, from 0 to the end of the program.
-- grain: dump_id, memory_space, schedule_position
-- portable: yes
WITH spaces AS (
    SELECT DISTINCT dump_id, memory_space FROM staging.allocations
),

instants AS (
    SELECT dump_id, schedule_position, instruction_name FROM staging.schedule
    UNION ALL
    -- One past the last line: the end of the program, up to which its outputs live.
    SELECT dump_id, max_position, NULL FROM staging.dumps
    WHERE max_position IS NOT NULL
)

SELECT
    i.dump_id,  -- The dump.
    s.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    i.schedule_position,  -- Position in the schedule; the last one is the end of the program.
    CAST(SUM(COALESCE(c.occupied_change_bytes, 0)) OVER running AS BIGINT)
        AS occupied_bytes,  -- Bytes in the union of live slots.
    CAST(SUM(COALESCE(c.listed_change_bytes, 0)) OVER running AS BIGINT)
        AS listed_bytes,  -- Logical bytes alive, aliases counted twice, as XLA counts.
    CAST(SUM(COALESCE(c.buffer_change_count, 0)) OVER running AS BIGINT) AS buffer_count,  -- Values alive.
    i.instruction_name  -- The instruction that runs there; null at the end of the program.
FROM instants AS i
INNER JOIN spaces AS s ON i.dump_id = s.dump_id
LEFT JOIN intermediate.space_changes AS c
    ON i.dump_id = c.dump_id AND s.memory_space = c.memory_space AND i.schedule_position = c.position_in_schedule
WINDOW running AS (PARTITION BY i.dump_id, s.memory_space ORDER BY i.schedule_position)
