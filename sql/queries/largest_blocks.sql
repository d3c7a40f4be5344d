-- Which are the largest contiguous blocks that programs ask for?
-- topic: Capacity
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    a.dump_id,
    a.allocation_index,
    a.kind,
    a.size_bytes,
    a.parameter_number,
    COALESCE(a.parameter_shape, a.output_shape) AS shape
FROM staging.allocations AS a
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON a.dump_id = o.dump_id
WHERE a.memory_space = $memory_space AND NOT a.is_thread_local
ORDER BY a.size_bytes DESC, o.program_name, a.dump_id, a.allocation_index
LIMIT $rows
