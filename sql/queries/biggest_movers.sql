-- Which run changed the memory of which program, the most bytes first?
-- topic: Changes
-- param: memory_space = 0  memory space
-- param: program = '%'  pattern of program names
-- param: rows = 20  rows at most
SELECT
    program_name,
    compile_target,
    previous_run_name,
    run_name,
    compiler_version,
    reserved_bytes,
    reserved_change_bytes,
    ROUND(100.0 * reserved_change_bytes / NULLIF(reserved_bytes - reserved_change_bytes, 0), 1) AS change_percent
FROM marts.memory_space_trend_v2
WHERE memory_space = $memory_space AND program_name LIKE $program AND reserved_change_bytes <> 0
ORDER BY ABS(reserved_change_bytes) DESC, program_name, compile_target, started_at, run_name, program_id
LIMIT $rows
