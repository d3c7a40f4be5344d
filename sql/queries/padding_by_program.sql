-- How much of the occupied peak of each program is layout padding, and how much slack?
-- topic: Padding
-- needs: live ranges
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    w.dump_id,
    CAST(SUM(w.occupied_bytes) AS BIGINT) AS occupied_bytes,
    CAST(SUM(w.element_bytes) AS BIGINT) AS element_bytes,
    CAST(SUM(w.layout_padding_bytes) AS BIGINT) AS layout_padding_bytes,
    CAST(SUM(w.slack_bytes) AS BIGINT) AS slack_bytes,
    ROUND(100 * SUM(w.layout_padding_bytes) / NULLIF(SUM(w.occupied_bytes), 0), 1) AS padding_percent
FROM marts.padding_waste_v1 AS w
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name FROM marts.observations_v1 GROUP BY dump_id
) AS o ON w.dump_id = o.dump_id
WHERE w.memory_space = $memory_space
GROUP BY o.program_name, w.dump_id
HAVING SUM(w.layout_padding_bytes) + SUM(w.slack_bytes) > 0
ORDER BY layout_padding_bytes DESC, slack_bytes DESC, o.program_name, w.dump_id
LIMIT $rows
