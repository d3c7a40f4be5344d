-- Which programs do not fit a chip, or nearly fill it, by their footprint in a memory space?
-- topic: Capacity
-- param: device_bytes = 17179869184  memory of the chip where marts.capacities has none; of a memory space but 0 always
-- param: used_percent = 80.0  show programs that take at least this share
-- param: memory_space = 0  memory space; 0 is all that lie in the memory of a GPU or CPU
-- param: rows = 20  rows at most
WITH capacities AS (
    SELECT
        r.run_id,
        c.capacity_bytes IS NOT NULL AS is_known,
        COALESCE(c.capacity_bytes, $device_bytes) AS capacity_bytes,
        COALESCE(c.capacity_source, 'the parameter device_bytes') AS capacity_source
    FROM staging.runs AS r
    -- What a message, a run or its device says is the size of the default memory space alone.
    LEFT JOIN marts.capacities_v1 AS c ON r.run_id = c.run_id AND $memory_space = 0
)

SELECT
    o.program_name,
    o.run_name,
    f.dump_id,
    CAST(SUM(f.footprint_bytes) AS BIGINT) AS footprint_bytes,
    o.capacity_bytes AS device_memory_bytes,
    ROUND(100.0 * SUM(f.footprint_bytes) / o.capacity_bytes, 1) AS used_percent_of_device,
    SUM(f.footprint_bytes) > o.capacity_bytes OR o.is_refused AS is_too_large,
    o.capacity_source
FROM marts.footprint_v1 AS f
INNER JOIN (
    SELECT
        s.dump_id,
        MAX(s.program_name) AS program_name,
        MAX(s.run_name) AS run_name,
        MAX(s.platform) AS platform,
        c.capacity_bytes,
        c.capacity_source,
        -- What did not fit its own device, as files or a message say, does not, however small it looks.
        COALESCE(BOOL_OR(c.is_known AND s.did_not_fit), FALSE) AS is_refused
    FROM marts.observations_v2 AS s
    INNER JOIN capacities AS c ON s.run_id = c.run_id
    -- A program that two runs compiled alike is judged on the device of each.
    GROUP BY s.dump_id, c.capacity_bytes, c.capacity_source
) AS o ON f.dump_id = o.dump_id
-- Of a GPU all memory spaces but the host's (5, 6) are labels on the memory that space 0 lies in; a CPU has one memory.
WHERE f.memory_space = $memory_space OR ($memory_space = 0 AND (
    o.platform = 'cpu' OR (o.platform = 'gpu' AND f.memory_space NOT IN (5, 6))
))
GROUP BY o.program_name, o.run_name, f.dump_id, o.capacity_bytes, o.capacity_source, o.is_refused
HAVING 100.0 * SUM(f.footprint_bytes) >= $used_percent * o.capacity_bytes OR o.is_refused
ORDER BY used_percent_of_device DESC, o.program_name, f.dump_id, o.capacity_bytes, o.capacity_source
LIMIT $rows
