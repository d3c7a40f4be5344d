-- Which temporaries live too long: born early, kept to the end of their time, and large for all of it?
-- topic: Lifetimes
-- needs: live ranges
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    s.dump_id,
    s.instruction_name,
    s.shape_text,
    s.size_bytes,
    s.start_position,
    s.end_position,
    s.end_position - s.start_position + 1 AS position_count,
    ROUND(100.0 * (s.end_position - s.start_position + 1) / (d.max_position + 1), 1) AS program_percent
FROM staging.hlo_values AS s
INNER JOIN staging.allocations AS a ON s.dump_id = a.dump_id AND s.allocation_index = a.allocation_index
INNER JOIN staging.contents AS d ON s.dump_id = d.dump_id
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON s.dump_id = o.dump_id
WHERE a.kind = 'temp' AND a.memory_space = $memory_space AND s.start_position IS NOT NULL
ORDER BY
    CAST(s.size_bytes AS HUGEINT) * (s.end_position - s.start_position + 1) DESC,
    o.program_name,
    s.dump_id,
    s.value_id
LIMIT $rows
