-- Which element type fills the memory at the occupied peak?
-- topic: Peaks
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
    t.dump_id,
    t.element_type,
    CAST(SUM(t.occupied_bytes) AS BIGINT) AS occupied_bytes,
    ROUND(100 * SUM(t.occupied_bytes) / NULLIF(MAX(p.occupied_peak_bytes), 0), 1) AS peak_percent,
    CAST(SUM(t.value_count_all_values) AS BIGINT) AS value_count_all_values
FROM marts.padding_by_tile_v1 AS t
INNER JOIN chosen AS c ON t.dump_id = c.dump_id
INNER JOIN marts.peak_memory_v1 AS p ON t.dump_id = p.dump_id AND t.memory_space = p.memory_space
WHERE t.memory_space = $memory_space
GROUP BY c.program_name, t.dump_id, t.element_type
ORDER BY occupied_bytes DESC NULLS LAST, c.program_name, t.dump_id, t.element_type
LIMIT $rows
