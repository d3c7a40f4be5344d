-- What is moved out of a memory space and copied back, such as an offload to the host, and does it save anything?
-- topic: Memory spaces
-- needs: live ranges
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space that it is moved out of
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    c.dump_id,
    c.source_instruction_name,
    c.shape_text,
    c.source_size_bytes,
    c.memory_space AS to_memory_space,
    c.copy_position,
    c.done_position,
    c.source_end_position,
    c.return_position,
    c.both_alive_position_count,
    c.away_position_count,
    c.saved_bytes
FROM marts.space_copies_v1 AS c
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON c.dump_id = o.dump_id
WHERE c.source_memory_space = $memory_space AND c.return_position IS NOT NULL
ORDER BY c.source_size_bytes DESC, o.program_name ASC, c.dump_id ASC, c.value_id ASC
LIMIT $rows
