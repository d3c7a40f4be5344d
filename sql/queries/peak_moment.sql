-- Which instruction runs at the occupied peak, and how long does the memory stay that full?
-- topic: Peaks
-- needs: live ranges
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    p.dump_id,
    p.occupied_peak_bytes,
    p.occupied_peak_position,
    d.max_position AS schedule_length,
    p.occupied_peak_position_count,
    s.instruction_name
FROM marts.peak_memory_v1 AS p
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON p.dump_id = o.dump_id
INNER JOIN staging.contents AS d ON p.dump_id = d.dump_id
LEFT JOIN staging.schedule AS s ON p.dump_id = s.dump_id AND p.occupied_peak_position = s.schedule_position
WHERE p.memory_space = $memory_space AND p.occupied_peak_bytes IS NOT NULL
ORDER BY p.occupied_peak_bytes DESC, o.program_name, p.dump_id
LIMIT $rows
