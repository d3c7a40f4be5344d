-- Which dumps were refused, and what was expected and found there?
-- topic: Compilations
-- param: rows = 20  rows at most
SELECT run_name, relative_path, rule, line_number, column_number, expected, found, state
FROM marts.rejects_v1
WHERE rule <> 'message' -- those are of logs: bufferhouse oom shows them
ORDER BY rejected_at DESC, run_name, relative_path, reject_id
LIMIT $rows
