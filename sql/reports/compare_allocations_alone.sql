-- The dumps of two runs that have allocations alone, no values and no live ranges: nothing in them says that they are whole.
-- grain: run_id
-- parameters: before_run_id, after_run_id
SELECT
    run_id,  -- The run.
    LIST(DISTINCT dump_id ORDER BY dump_id ASC) AS dump_ids  -- Their contents.
FROM marts.observations_v2
WHERE run_id IN ($before_run_id, $after_run_id) AND has_allocations_alone
GROUP BY run_id
ORDER BY run_id
