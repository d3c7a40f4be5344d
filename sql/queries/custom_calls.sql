-- Which library calls does a program make, and how large are their results?
-- topic: Compilations
-- param: program = '%'  pattern of program names
-- param: rows = 20  rows at most
WITH sightings AS (
    SELECT DISTINCT dump_id, program_id
    FROM marts.observations_v1
    WHERE program_name LIKE $program
),

-- Of a tuple the result is its elements, not the pointers to them.
results AS (
    SELECT t.dump_id, t.custom_call_target, SUM(v.element_bytes) AS result_bytes
    FROM staging.instruction_texts AS t
    INNER JOIN (SELECT DISTINCT dump_id FROM sightings) AS s ON t.dump_id = s.dump_id
    LEFT JOIN staging.hlo_values AS v ON t.dump_id = v.dump_id AND t.instruction_text_id = v.instruction_text_id
    WHERE t.custom_call_target IS NOT NULL
    GROUP BY t.dump_id, t.instruction_text_id, t.custom_call_target
),

calls AS (
    SELECT
        custom_call_target,
        COUNT(DISTINCT dump_id) AS dump_count,
        COUNT(*) AS call_count,
        MAX(result_bytes) AS largest_result_bytes
    FROM results
    GROUP BY custom_call_target
),

-- One dump may be that of several programs: its calls count once, and each program does.
programs AS (
    SELECT t.custom_call_target, COUNT(DISTINCT s.program_id) AS program_count
    FROM staging.instruction_texts AS t
    INNER JOIN sightings AS s ON t.dump_id = s.dump_id
    GROUP BY t.custom_call_target
)

SELECT
    c.custom_call_target,
    CAST(p.program_count AS BIGINT) AS program_count,
    CAST(c.dump_count AS BIGINT) AS dump_count,
    CAST(c.call_count AS BIGINT) AS call_count,
    CAST(c.largest_result_bytes AS BIGINT) AS largest_result_bytes
FROM calls AS c
INNER JOIN programs AS p ON c.custom_call_target = p.custom_call_target
ORDER BY c.call_count DESC, c.custom_call_target
LIMIT $rows
