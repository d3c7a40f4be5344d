-- The programs of a run that the run before it has not, by the newest run of the series that has them: what a dump
-- that was refused, or a program that was not compiled in a night, would hide from the comparison with that night. Where
-- the run before has no program of their function either, the newest run that has one stands for them, too: they may be
-- reshaped since.
-- grain: run_id
-- parameters: before_run_id, after_run_id
WITH compiled AS (
    SELECT DISTINCT
        run_id,
        program_id,
        NULLIF(program_name, '(unnamed)') AS function_name
    FROM marts.observations_v1
),

before AS (
    SELECT
        program_id,
        function_name
    FROM compiled
    WHERE run_id = $before_run_id
),

lacking AS (
    SELECT
        program_id,
        CASE
            WHEN function_name NOT IN (SELECT function_name FROM before WHERE function_name IS NOT NULL)
                THEN function_name
        END AS function_name
    FROM compiled
    WHERE run_id = $after_run_id AND program_id NOT IN (SELECT program_id FROM before)
),

earlier AS (
    SELECT
        r.run_id,
        r.run_order,
        c.program_id,
        c.function_name
    FROM marts.runs_v2 AS a
    INNER JOIN marts.runs_v2 AS r ON r.run_order < a.run_order
    INNER JOIN compiled AS c ON r.run_id = c.run_id
    WHERE
        a.run_id = $after_run_id
        AND a.platform IS NOT DISTINCT FROM r.platform
        AND a.track IS NOT DISTINCT FROM r.track
        AND a.device_kind IS NOT DISTINCT FROM r.device_kind
),

returned AS (
    SELECT
        l.program_id,
        ARG_MAX(e.run_id, e.run_order) AS run_id,
        MAX(e.run_order) AS run_order
    FROM lacking AS l
    INNER JOIN earlier AS e ON l.program_id = e.program_id
    GROUP BY l.program_id
    UNION
    SELECT
        l.program_id,
        ARG_MAX(e.run_id, e.run_order) AS run_id,
        MAX(e.run_order) AS run_order
    FROM lacking AS l
    INNER JOIN earlier AS e ON l.function_name = e.function_name
    GROUP BY l.program_id
)

SELECT
    run_id,  -- The earlier run.
    LIST(program_id ORDER BY program_id) AS program_ids  -- The programs that were in no run between.
FROM returned
GROUP BY run_id, run_order
ORDER BY run_order DESC
