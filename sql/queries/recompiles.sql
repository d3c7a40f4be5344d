-- Which functions are compiled again and again in one run: with other signatures, or identically?
-- topic: Compilations
-- param: run = null  name of a run; null for all runs
-- param: rows = 20  rows at most
SELECT
    run_name,
    program_name,
    CAST(COUNT(*) AS BIGINT) AS dump_count,
    CAST(COUNT(DISTINCT program_id) AS BIGINT) AS signature_count,
    CAST(COUNT(DISTINCT dump_id) AS BIGINT) AS content_count,
    CAST(COUNT(*) - COUNT(DISTINCT dump_id) AS BIGINT) AS identical_count
FROM marts.observations_v1
WHERE $run IS NULL OR run_name = $run
GROUP BY run_id, run_name, program_name
HAVING COUNT(*) > 1
ORDER BY dump_count DESC, run_name, program_name
LIMIT $rows
