-- What keeps the largest values of a peak alive, until where, and between which two uses do they lie idle longest?
-- topic: Lifetimes
-- needs: live ranges
-- param: program = '%'  pattern of program names
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
WITH largest AS (
    SELECT
        o.program_name,
        p.dump_id,
        p.value_id,
        p.owned_bytes
    FROM marts.peak_buffers_v1 AS p
    INNER JOIN (
        SELECT dump_id, MAX(program_name) AS program_name
        FROM marts.observations_v1
        WHERE program_name LIKE $program
        GROUP BY dump_id
    ) AS o ON p.dump_id = o.dump_id
    WHERE p.memory_space = $memory_space AND p.owned_bytes > 0
    ORDER BY p.owned_bytes DESC, o.program_name ASC, p.dump_id ASC, p.value_id ASC
    LIMIT $rows
)

SELECT
    a.program_name,
    a.dump_id,
    b.instruction_name,
    b.shape_text,
    a.owned_bytes,
    b.kept_by,
    b.end_position,
    b.last_user_name,
    b.last_user_opcode,
    b.read_through_name,
    b.last_use_position,
    b.idle_from_instruction_name,
    b.idle_to_instruction_name,
    b.longest_idle_position_count,
    b.live_position_count
FROM largest AS a
INNER JOIN marts.buffer_lifetimes_v2 AS b ON a.dump_id = b.dump_id AND a.value_id = b.value_id
ORDER BY a.owned_bytes DESC, a.program_name ASC, a.dump_id ASC, b.value_id ASC
