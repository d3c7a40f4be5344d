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
    program_id,  -- The program.
    program_name,  -- Its name; a weak key.
    run_count,  -- Runs with a dump of it.
    dump_count  -- Its dumps, repeats counted each time.
FROM matches
WHERE match_kind = (SELECT MIN(match_kind) FROM matches)
ORDER BY program_name ASC, dump_count DESC, program_id ASC
