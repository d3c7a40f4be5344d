-- The revisions of compilers that the dumps of two runs name, where those for one target name several.
-- grain: run_id
-- parameters: before_run_id, after_run_id
WITH targets AS (
    -- A run.json says one revision for all dumps that name none, so dumps for other targets may have another one.
    SELECT run_id, LIST(DISTINCT compiler_revision) AS compiler_revisions
    FROM marts.observations_v1
    WHERE run_id IN ($before_run_id, $after_run_id)
    GROUP BY run_id, compile_target
    HAVING COUNT(DISTINCT compiler_revision) > 1
)

SELECT
    run_id,  -- The run.
    LIST_SORT(LIST_DISTINCT(FLATTEN(LIST(compiler_revisions)))) AS compiler_revisions  -- The revisions, such as 853872983 of .cl_853872983.
FROM targets
GROUP BY run_id
ORDER BY run_id
