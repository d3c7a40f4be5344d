-- Which programs appear for the first time in a run that is not the first, and how large are they?
-- topic: Changes
-- param: rows = 20  rows at most
WITH first_runs AS (
    SELECT t.platform, t.track, t.device_kind, MIN(r.run_order) AS first_run_order
    FROM marts.memory_space_trend_v2 AS t
    INNER JOIN marts.runs_v1 AS r ON t.run_id = r.run_id
    GROUP BY t.platform, t.track, t.device_kind
)

SELECT t.run_name, t.program_name, t.compile_target, t.reserved_bytes, t.dump_count, t.variant_count
FROM marts.memory_space_trend_v2 AS t
INNER JOIN marts.runs_v1 AS r ON t.run_id = r.run_id
INNER JOIN first_runs AS f
    ON
        t.platform IS NOT DISTINCT FROM f.platform
        AND t.track IS NOT DISTINCT FROM f.track
        AND t.device_kind IS NOT DISTINCT FROM f.device_kind
WHERE t.run_number = 1 AND t.memory_space = 0 AND r.run_order > f.first_run_order
ORDER BY t.reserved_bytes DESC, r.run_order, t.program_name, t.program_id, t.compile_target
LIMIT $rows
