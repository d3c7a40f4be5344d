-- The programs that a word may mean: by id or name if one bears it, else by the beginning of either.
-- grain: program_id
-- parameters: word (a program_id, a name, or the beginning of one; '' is the beginning of all)
WITH programs AS (
    SELECT
        program_id,
        MAX(program_name) AS program_name,
        COUNT(DISTINCT run_id) AS run_count,
        COUNT(*) AS dump_count
    FROM marts.observations_v1
    GROUP BY program_id
),

matches AS (
    SELECT
        *,
        CASE
            WHEN CAST(program_id AS VARCHAR) = $word THEN 1
            WHEN program_name = $word THEN 2
            WHEN starts_with(program_name, $word) OR starts_with(CAST(program_id AS VARCHAR), $word) THEN 3
        END AS match_kind
    FROM programs
)

SELECT
    m.program_id,  -- The program.
    m.program_name,  -- Its name; a weak key.
    p.entry_signature,  -- Element types and dimensions of parameters and output.
    m.run_count,  -- Runs with a dump of it.
    m.dump_count  -- Its dumps, repeats counted each time.
FROM matches AS m
LEFT JOIN marts.programs_v1 AS p ON m.program_id = p.program_id
WHERE m.match_kind = (SELECT MIN(match_kind) FROM matches)
ORDER BY m.program_name ASC, m.dump_count DESC, m.program_id ASC
