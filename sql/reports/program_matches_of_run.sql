-- The programs of a run.
-- grain: program_id
-- parameters: run_id
SELECT DISTINCT program_id  -- The program.
FROM marts.observations_v1
WHERE run_id = $run_id
