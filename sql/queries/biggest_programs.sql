-- Which programs reserve the most memory, and in which run do they reserve it?
-- topic: Peaks
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
WITH ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY program_id, compile_target ORDER BY reserved_bytes DESC, started_at DESC, run_name
        ) AS size_rank
    FROM marts.memory_space_trend_v1
    WHERE memory_space = $memory_space
)

SELECT program_name, compile_target, run_name, reserved_bytes, occupied_peak_bytes, variant_count, dump_id
FROM ranked
WHERE size_rank = 1
ORDER BY reserved_bytes DESC, program_name, compile_target, dump_id
LIMIT $rows
