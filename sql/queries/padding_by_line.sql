-- Which operations and source lines have the most padding alive at the occupied peak?
-- topic: Padding
-- needs: live ranges
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    s.dump_id,
    s.op_name,
    s.source_file,
    s.source_line,
    s.layout_padding_bytes,
    s.slack_bytes,
    s.occupied_bytes
FROM marts.padding_by_source_v1 AS s
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name FROM marts.observations_v1 GROUP BY dump_id
) AS o ON s.dump_id = o.dump_id
WHERE s.memory_space = $memory_space AND s.layout_padding_bytes > 0
ORDER BY s.layout_padding_bytes DESC, o.program_name, s.dump_id, s.op_name, s.source_file, s.source_line
LIMIT $rows
