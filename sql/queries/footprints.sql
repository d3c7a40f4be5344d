-- What does a program need: arguments, outputs, constants, temporaries, and how much does a call add?
-- topic: Capacity
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    f.dump_id,
    f.parameter_bytes,
    f.output_bytes,
    f.constant_bytes,
    f.temp_bytes,
    f.footprint_bytes,
    f.increment_bytes
FROM marts.footprint_v1 AS f
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON f.dump_id = o.dump_id
WHERE f.memory_space = $memory_space
ORDER BY f.footprint_bytes DESC, o.program_name, f.dump_id
LIMIT $rows
