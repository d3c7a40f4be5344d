-- What sits in a memory space other than the default, such as VMEM on a TPU, largest first?
-- topic: Memory spaces
-- param: memory_space = 1  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    v.dump_id,
    v.instruction_name,
    v.shape_text,
    v.size_bytes,
    v.start_position,
    v.end_position
FROM staging.hlo_values AS v
INNER JOIN staging.allocations AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name FROM marts.observations_v1 GROUP BY dump_id
) AS o ON v.dump_id = o.dump_id
WHERE a.memory_space = $memory_space AND NOT a.is_thread_local
ORDER BY v.size_bytes DESC, o.program_name, v.dump_id, v.value_id
LIMIT $rows
