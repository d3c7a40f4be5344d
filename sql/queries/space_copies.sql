-- What is copied between memory spaces, such as between HBM and VMEM or the host, and how long are both sides alive?
-- topic: Memory spaces
-- param: program = '%'  pattern of program names
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    c.dump_id,
    c.source_instruction_name,
    c.source_memory_space,
    c.memory_space,
    c.instruction_name,
    c.opcode,
    c.copied_bytes,
    c.copy_position,
    c.done_position,
    c.both_alive_position_count
FROM marts.space_copies_v1 AS c
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON c.dump_id = o.dump_id
ORDER BY c.copied_bytes DESC, o.program_name ASC, c.dump_id ASC, c.value_id ASC, c.source_value_id ASC
LIMIT $rows
