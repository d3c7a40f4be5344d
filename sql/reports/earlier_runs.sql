-- The programs of a run that the run before it has not, by the newest run of the series that has them: what a dump
-- that was refused, or a program that was not compiled in a night, would hide from the comparison with that night.
-- grain: run_id
-- parameters: before_run_id, after_run_id
WITH compiled AS (
    SELECT DISTINCT
        run_id,
        program_id
    FROM marts.observations_v1
),

returned AS (
    SELECT
        c.program_id,
        ARG_MAX(r.run_id, r.run_order) AS run_id,
        MAX(r.run_order) AS run_order
    FROM marts.runs_v2 AS a
    INNER JOIN marts.runs_v2 AS r ON r.run_order < a.run_order
    INNER JOIN compiled AS c ON r.run_id = c.run_id
    WHERE
        a.run_id = $after_run_id
        AND a.platform IS NOT DISTINCT FROM r.platform
        AND a.track IS NOT DISTINCT FROM r.track
        AND a.device_kind IS NOT DISTINCT FROM r.device_kind
        AND c.program_id IN (SELECT program_id FROM compiled WHERE run_id = $after_run_id)
        AND c.program_id NOT IN (SELECT program_id FROM compiled WHERE run_id = $before_run_id)
    GROUP BY c.program_id
)

SELECT
    run_id,  -- The earlier run.
    LIST(program_id ORDER BY program_id) AS program_ids  -- The programs that were in no run between.
FROM returned
GROUP BY run_id, run_order
ORDER BY run_order DESC
