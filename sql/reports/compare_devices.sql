-- What the programs that two runs share say about the device they were compiled for: memory spaces, and tiles.
-- grain: run_id, thing, fact
-- parameters: before_run_id, after_run_id
WITH shared AS (
    SELECT program_id
    FROM marts.observations_v1
    WHERE run_id IN ($before_run_id, $after_run_id)
    GROUP BY program_id
    HAVING COUNT(DISTINCT run_id) = 2
),

dumps AS (
    SELECT DISTINCT
        o.run_id,
        o.dump_id
    FROM marts.observations_v1 AS o
    INNER JOIN shared AS s ON o.program_id = s.program_id
    WHERE o.run_id IN ($before_run_id, $after_run_id)
)

SELECT
    d.run_id,  -- The run.
    'memory spaces' AS thing,  -- memory spaces or tiles.
    CAST(p.memory_space AS VARCHAR) AS fact  -- A memory space that is used, or a tile.
FROM dumps AS d
INNER JOIN marts.peak_memory_v1 AS p ON d.dump_id = p.dump_id
WHERE p.reserved_bytes > 0
UNION
SELECT
    d.run_id,
    'tiles' AS thing,
    t.tiles AS fact
FROM dumps AS d
INNER JOIN marts.padding_by_tile_v1 AS t ON d.dump_id = t.dump_id
WHERE t.tiles IS NOT NULL
ORDER BY thing, fact, run_id
