-- With which entry signatures was a function compiled, and how much memory does each take?
-- topic: Compilations
-- param: program = '%'  pattern of program names
-- param: rows = 30  rows at most
SELECT
    o.program_name,
    d.entry_signature,
    CAST(COUNT(*) AS BIGINT) AS dump_count,
    CAST(COUNT(DISTINCT o.run_id) AS BIGINT) AS run_count,
    MAX(p.reserved_bytes) AS most_reserved_bytes
FROM marts.observations_v1 AS o
INNER JOIN staging.contents AS d ON o.dump_id = d.dump_id
LEFT JOIN marts.peak_memory_v1 AS p ON o.dump_id = p.dump_id AND p.memory_space = 0
WHERE o.program_name LIKE $program
GROUP BY o.program_name, d.entry_signature
ORDER BY dump_count DESC, o.program_name, d.entry_signature
LIMIT $rows
