-- Which arguments are donated, so that an output takes their place?
-- topic: Capacity
-- param: program = '%'  pattern of program names
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    a.dump_id,
    CAST(COUNT(*) FILTER (WHERE a.is_maybe_live_out) AS BIGINT) AS donated_count,
    CAST(COUNT(*) AS BIGINT) AS argument_count,
    CAST(COALESCE(SUM(a.size_bytes) FILTER (WHERE a.is_maybe_live_out), 0) AS BIGINT) AS donated_bytes,
    CAST(SUM(a.size_bytes) AS BIGINT) AS argument_bytes,
    a.memory_space
FROM staging.allocations AS a
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON a.dump_id = o.dump_id
WHERE a.kind = 'parameter'
GROUP BY o.program_name, a.dump_id, a.memory_space
HAVING COUNT(*) FILTER (WHERE a.is_maybe_live_out) > 0
ORDER BY donated_bytes DESC, o.program_name, a.dump_id, a.memory_space
LIMIT $rows
