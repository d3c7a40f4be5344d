-- Which values own the most bytes at the occupied peak, and which source lines made them?
-- topic: Peaks
-- needs: live ranges
-- param: program = '%'  pattern of program names
-- param: run = null  name of a run, latest or previous; null for all runs
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
WITH chosen AS (
    SELECT dump_id, MAX(program_name) AS program_name, MAX(run_name) AS run_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program AND ($run IS NULL OR run_name = $run)
    GROUP BY dump_id
)

SELECT
    c.program_name,
    c.run_name,
    b.instruction_name,
    b.kind,
    b.shape_text,
    b.owned_bytes,
    ROUND(100 * b.peak_share, 1) AS peak_percent,
    b.op_name,
    b.source_file,
    b.source_line
FROM marts.peak_buffers_v1 AS b
INNER JOIN chosen AS c ON b.dump_id = c.dump_id
WHERE b.memory_space = $memory_space
ORDER BY b.owned_bytes DESC, c.program_name, b.dump_id, b.value_id
LIMIT $rows
