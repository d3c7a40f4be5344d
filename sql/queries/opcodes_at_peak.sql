-- Which operations, such as fusion or copy, made the values that fill the occupied peak?
-- topic: Peaks
-- needs: live ranges
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    b.dump_id,
    b.opcode,
    CAST(COUNT(*) AS BIGINT) AS value_count,
    CAST(SUM(b.owned_bytes) AS BIGINT) AS owned_bytes,
    ROUND(100 * SUM(b.peak_share), 1) AS peak_percent
FROM marts.peak_buffers_v1 AS b
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON b.dump_id = o.dump_id
WHERE b.memory_space = $memory_space
GROUP BY o.program_name, b.dump_id, b.opcode
ORDER BY owned_bytes DESC, o.program_name, b.dump_id, b.opcode
LIMIT $rows
