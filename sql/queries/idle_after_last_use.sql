-- Which temporaries are kept alive after their last use, the largest first, and for how long?
-- topic: Lifetimes
-- needs: live ranges
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
WITH last_uses AS (
    SELECT dump_id, value_id, MAX(schedule_position) AS last_use_position
    FROM staging.uses
    GROUP BY dump_id, value_id
)

SELECT
    o.program_name,
    s.dump_id,
    s.instruction_name,
    s.shape_text,
    s.size_bytes,
    u.last_use_position,
    s.end_position,
    s.end_position - u.last_use_position AS idle_position_count
FROM staging.hlo_values AS s
INNER JOIN staging.allocations AS a ON s.dump_id = a.dump_id AND s.allocation_index = a.allocation_index
INNER JOIN last_uses AS u ON s.dump_id = u.dump_id AND s.value_id = u.value_id
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON s.dump_id = o.dump_id
WHERE a.kind = 'temp' AND a.memory_space = $memory_space AND s.end_position > u.last_use_position
ORDER BY s.size_bytes DESC, idle_position_count DESC, o.program_name, s.dump_id, s.value_id
LIMIT $rows
