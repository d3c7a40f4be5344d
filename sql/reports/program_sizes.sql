-- How much each of some programs reserves at most, over all dumps and memory spaces.
-- grain: program_id
-- parameters: program_ids (the programs)
SELECT
    o.program_id,  -- The program.
    CAST(MAX(p.reserved_bytes) AS BIGINT) AS most_reserved_bytes  -- The most that a dump reserves in a memory space.
FROM marts.observations_v1 AS o
INNER JOIN marts.peak_memory_v1 AS p ON o.dump_id = p.dump_id
WHERE o.program_id IN ($program_ids)
GROUP BY o.program_id
ORDER BY o.program_id
