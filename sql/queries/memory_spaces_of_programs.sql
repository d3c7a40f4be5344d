-- How full is each memory space of a program at its own occupied peak?
-- topic: Memory spaces
-- param: program = '%'  pattern of program names
-- param: rows = 30  rows at most
SELECT
    o.program_name,
    p.dump_id,
    p.memory_space,
    n.preferred_name AS memory_space_name,
    p.reserved_bytes,
    p.occupied_peak_bytes,
    ROUND(100.0 * p.occupied_peak_bytes / NULLIF(p.reserved_bytes, 0), 1) AS occupied_percent
FROM marts.peak_memory_v1 AS p
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name, MAX(platform) AS platform
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON p.dump_id = o.dump_id
LEFT JOIN (
    SELECT DISTINCT platform, memory_space, preferred_name FROM marts.memory_spaces_v1
) AS n ON o.platform = n.platform AND p.memory_space = n.memory_space
ORDER BY MAX(p.memory_space) OVER (PARTITION BY p.dump_id) DESC, o.program_name, p.dump_id, p.memory_space
LIMIT $rows
