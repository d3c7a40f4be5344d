-- Which instructions read an instruction, in the order of the schedule?
-- topic: Lifetimes
-- param: instruction = 'fusion%'  pattern of instruction names
-- param: program = '%'  pattern of program names
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    g.dump_id,
    g.operand_name,
    g.operand_schedule_position,
    g.instruction_name,
    g.opcode,
    g.operand_number,
    g.schedule_position
FROM marts.operands_v1 AS g
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON g.dump_id = o.dump_id
WHERE g.operand_name LIKE $instruction
ORDER BY
    o.program_name,
    g.dump_id,
    g.operand_schedule_position NULLS LAST,
    g.operand_name,
    g.schedule_position NULLS LAST,
    g.instruction_name,
    g.operand_number
LIMIT $rows
