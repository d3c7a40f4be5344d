-- Which functions are compiled again and again into one folder of a run: with other signatures, or identically?
-- topic: Compilations
-- param: run = null  name of a run, latest or previous; null for all runs
-- param: rows = 20  rows at most
WITH sightings AS (
    SELECT
        *,
        COALESCE(NULLIF(regexp_replace(relative_path, '/?[^/]*$', ''), ''), '.') AS folder
    FROM marts.observations_v1
    -- A module without a name belongs to no function.
    WHERE ($run IS NULL OR run_name = $run) AND program_name <> '(unnamed)'
),

-- Each process of a job of several hosts compiles a function once, and has a folder of its own; one process may compile
-- it for two targets, such as tpu and cpu.
counted AS (
    SELECT
        run_id,
        run_name,
        program_name,
        compile_target,
        folder,
        COUNT(*) AS dump_count,
        COUNT(DISTINCT program_id) AS signature_count,
        COUNT(DISTINCT dump_id) AS content_count
    FROM sightings
    GROUP BY run_id, run_name, program_name, compile_target, folder
    HAVING COUNT(*) > 1
),

ranked AS (
    SELECT
        *,
        COUNT(*) OVER of_target AS folder_count,
        ROW_NUMBER() OVER (of_target ORDER BY dump_count DESC, folder ASC) AS place
    FROM counted
    WINDOW of_target AS (PARTITION BY run_id, program_name, compile_target)
)

SELECT
    run_name,
    program_name,
    CAST(dump_count AS BIGINT) AS dump_count,
    CAST(signature_count AS BIGINT) AS signature_count,
    CAST(content_count AS BIGINT) AS content_count,
    CAST(dump_count - content_count AS BIGINT) AS identical_count,
    folder,
    CAST(folder_count AS BIGINT) AS folder_count,
    compile_target
FROM ranked
WHERE place = 1
ORDER BY dump_count DESC, run_name, program_name, compile_target
LIMIT $rows
