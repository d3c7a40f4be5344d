-- The revisions of compilers that the dumps of two runs name, where those for one target name several.
-- grain: run_id, compile_target
-- parameters: before_run_id, after_run_id
SELECT
    run_id,  -- The run.
    -- A run.json says one revision for all dumps that name none, so dumps for other targets may have another one.
    LIST(DISTINCT compiler_revision ORDER BY compiler_revision ASC) AS compiler_revisions  -- The revisions, such as 853872983 of .cl_853872983.
FROM marts.observations_v2
WHERE run_id IN ($before_run_id, $after_run_id)
GROUP BY run_id, compile_target
HAVING COUNT(DISTINCT compiler_revision) > 1
ORDER BY run_id, compile_target
