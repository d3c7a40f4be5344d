-- Which dump is behind a file or a program of a run?
-- topic: Compilations
-- param: path = '%'  pattern of relative paths
-- param: rows = 20  rows at most
SELECT run_name, relative_path, dump_id, program_name, compile_target, text_bytes
FROM marts.observations_v1
WHERE relative_path LIKE $path
ORDER BY run_name, relative_path
LIMIT $rows
