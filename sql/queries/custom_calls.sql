-- Which library calls does a program make, and how large are their results?
-- topic: Compilations
-- param: program = '%'  pattern of program names
-- param: rows = 20  rows at most
SELECT
    t.custom_call_target,
    CAST(COUNT(DISTINCT o.program_name) AS BIGINT) AS program_count,
    CAST(COUNT(DISTINCT t.dump_id) AS BIGINT) AS dump_count,
    CAST(COUNT(*) AS BIGINT) AS call_count,
    MAX(t.result_bytes) AS largest_result_bytes
FROM staging.instruction_texts AS t
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON t.dump_id = o.dump_id
WHERE t.custom_call_target IS NOT NULL
GROUP BY t.custom_call_target
ORDER BY call_count DESC, t.custom_call_target
LIMIT $rows
