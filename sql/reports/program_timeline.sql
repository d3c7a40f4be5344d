-- The memory timelines of some dumps, thinned for a chart: of each stretch of the schedule the positions with most and least
-- occupied and with most listed bytes. A schedule no longer than `stretches` is there whole. Without live ranges: none.
-- grain: dump_id, memory_space, schedule_position
-- parameters: dump_ids, stretches (how many the schedule is cut into)
WITH moments AS (
    SELECT
        t.dump_id,
        t.memory_space,
        t.schedule_position,
        t.occupied_bytes,
        t.listed_bytes,
        t.buffer_count,
        t.instruction_name
    FROM marts.memory_timeline_v1 AS t
    INNER JOIN marts.peak_memory_v1 AS p ON t.dump_id = p.dump_id AND t.memory_space = p.memory_space
    WHERE t.dump_id IN ($dump_ids) AND p.dump_id IN ($dump_ids) AND p.occupied_peak_bytes IS NOT NULL
),

stretched AS (
    SELECT
        *,
        schedule_position * $stretches // (MAX(schedule_position) OVER (PARTITION BY dump_id) + 1) AS stretch
    FROM moments
),

ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (most_first ORDER BY occupied_bytes DESC, schedule_position ASC) AS most_occupied,
        ROW_NUMBER() OVER (most_first ORDER BY occupied_bytes ASC, schedule_position ASC) AS least_occupied,
        ROW_NUMBER() OVER (most_first ORDER BY listed_bytes DESC, schedule_position ASC) AS most_listed
    FROM stretched
    WINDOW most_first AS (PARTITION BY dump_id, memory_space, stretch)
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    schedule_position,  -- Position in the schedule; the last one is the end of the program.
    occupied_bytes,  -- Bytes in the union of live slots.
    listed_bytes,  -- Logical bytes alive, aliases counted twice, as XLA counts.
    buffer_count,  -- Values alive.
    instruction_name  -- The instruction that runs there; null at the end of the program.
FROM ranked
WHERE 1 IN (most_occupied, least_occupied, most_listed)
ORDER BY dump_id ASC, memory_space ASC, schedule_position ASC
