-- Which programs do not fit a chip, or nearly fill it, by their footprint in a memory space?
-- topic: Capacity
-- param: device_bytes = 17179869184  memory of the chip, if the run does not hold it
-- param: used_percent = 80.0  show programs that take at least this share
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    o.run_name,
    f.dump_id,
    f.footprint_bytes,
    o.device_memory_bytes,
    ROUND(100.0 * f.footprint_bytes / o.device_memory_bytes, 1) AS used_percent_of_device,
    f.footprint_bytes > o.device_memory_bytes AS is_too_large
FROM marts.footprint_v1 AS f
INNER JOIN (
    SELECT
        s.dump_id,
        MAX(s.program_name) AS program_name,
        MAX(s.run_name) AS run_name,
        COALESCE(r.device_memory_bytes, $device_bytes) AS device_memory_bytes
    FROM marts.observations_v1 AS s
    INNER JOIN staging.runs AS r ON s.run_id = r.run_id
    -- A program that two runs compiled alike is judged on the device of each.
    GROUP BY s.dump_id, COALESCE(r.device_memory_bytes, $device_bytes)
) AS o ON f.dump_id = o.dump_id
WHERE f.memory_space = $memory_space AND 100.0 * f.footprint_bytes >= $used_percent * o.device_memory_bytes
ORDER BY used_percent_of_device DESC, o.program_name, f.dump_id
LIMIT $rows
