-- Which arguments take the most memory, and which share of their program's footprint is that?
-- topic: Capacity
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    a.dump_id,
    a.parameter_number,
    a.parameter_shape_index,
    a.parameter_shape,
    a.size_bytes,
    ROUND(100.0 * a.size_bytes / NULLIF(f.footprint_bytes, 0), 1) AS footprint_percent,
    a.is_maybe_live_out AS is_donated
FROM staging.allocations AS a
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON a.dump_id = o.dump_id
INNER JOIN marts.footprint_v1 AS f ON a.dump_id = f.dump_id AND a.memory_space = f.memory_space
WHERE a.kind = 'parameter' AND a.memory_space = $memory_space
ORDER BY a.size_bytes DESC, o.program_name, a.dump_id, a.allocation_index
LIMIT $rows
