-- Which instructions have memory for themselves while they run, which no allocation of a dump shows?
-- topic: Memory spaces
-- param: program = '%'  pattern of program names
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    s.dump_id,
    s.instruction_name,
    s.opcode,
    s.custom_call_target,
    s.memory_space,
    s.size_bytes,
    s.is_used,
    s.schedule_position
FROM marts.scoped_memory_v1 AS s
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON s.dump_id = o.dump_id
ORDER BY s.size_bytes DESC, o.program_name ASC, s.dump_id ASC, s.instruction_name ASC, s.is_used ASC, s.ordinal ASC
LIMIT $rows
