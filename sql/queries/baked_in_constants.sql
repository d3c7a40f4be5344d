-- Which constants are baked into programs, largest first?
-- topic: Compilations
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    a.dump_id,
    a.allocation_index,
    v.instruction_name,
    v.shape_text,
    a.size_bytes
FROM staging.allocations AS a
INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name FROM marts.observations_v1 GROUP BY dump_id
) AS o ON a.dump_id = o.dump_id
WHERE a.is_constant AND NOT a.is_thread_local
ORDER BY a.size_bytes DESC, o.program_name, a.dump_id, v.value_id
LIMIT $rows
