-- What are the memory spaces of these dumps called, and by which source?
-- topic: Memory spaces
-- param: platform = '%'  pattern of platforms: cpu, gpu, tpu
-- param: rows = 60  rows at most
WITH met AS (
    SELECT o.platform, p.memory_space, COUNT(DISTINCT p.dump_id) AS dump_count
    FROM marts.peak_memory_v1 AS p
    INNER JOIN marts.observations_v1 AS o ON p.dump_id = o.dump_id
    WHERE $platform = '%' OR o.platform LIKE $platform -- a dump need not say its platform
    GROUP BY o.platform, p.memory_space
)

SELECT
    m.platform,
    m.memory_space,
    m.dump_count,
    n.preferred_name,
    n.memory_space_name,
    n.is_other_name,
    n.said_by,
    n.since,
    n.read_on
FROM met AS m
LEFT JOIN marts.memory_spaces_v1 AS n
    ON m.platform IS NOT DISTINCT FROM n.platform AND m.memory_space = n.memory_space
ORDER BY m.platform, m.memory_space, n.is_other_name, n.said_by
LIMIT $rows
