-- Which source lines, or operations where none is printed, own the most bytes at the occupied peak of a program?
-- topic: Peaks
-- needs: live ranges
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
WITH chosen AS (
    SELECT DISTINCT dump_id, program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
)

SELECT
    c.program_name,
    b.dump_id,
    b.source_file,
    b.source_line,
    b.op_name, -- null beside no line: all values of which the dump says neither
    CAST(COUNT(*) AS BIGINT) AS value_count,
    CAST(SUM(b.owned_bytes) AS BIGINT) AS owned_bytes,
    ROUND(100 * SUM(b.peak_share), 1) AS peak_percent
FROM marts.peak_buffers_v1 AS b
INNER JOIN chosen AS c ON b.dump_id = c.dump_id
WHERE b.memory_space = $memory_space
GROUP BY c.program_name, b.dump_id, b.source_file, b.source_line, b.op_name
ORDER BY owned_bytes DESC, c.program_name, b.dump_id, b.source_file, b.source_line, b.op_name
LIMIT $rows
