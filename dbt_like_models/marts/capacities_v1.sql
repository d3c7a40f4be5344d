-- How much of the default memory space a program of a run may take: as a message of the run prints it, which is without what
-- the compiler keeps for itself; else the memory of the device as the run says it, or as its maker or the compiler says it.
-- grain: run_id
-- portable: no, because a message is joined to the dump that has its words by functions of texts of DuckDB
WITH said AS (
    SELECT
        run_id,
        MIN(capacity_bytes) AS capacity_bytes
    FROM intermediate.oom_observations
    WHERE capacity_bytes IS NOT NULL
    GROUP BY run_id
    HAVING MIN(capacity_bytes) = MAX(capacity_bytes)
)

SELECT
    r.run_id,  -- The run.
    r.run_name,  -- Its name.
    r.device_kind,  -- Device the run compiled for; null where nobody said.
    COALESCE(s.capacity_bytes, r.device_memory_bytes, d.memory_bytes) AS capacity_bytes,  -- Bytes that a program may take; null where unknown.
    CASE
        WHEN s.capacity_bytes IS NOT NULL THEN 'a message'
        WHEN r.device_memory_bytes IS NOT NULL THEN 'the run'
        WHEN d.memory_bytes IS NOT NULL THEN d.said_by
    END AS capacity_source  -- Who says so: a message, the run, a document or a compiler.
FROM staging.runs AS r
LEFT JOIN said AS s ON r.run_id = s.run_id
LEFT JOIN intermediate.device_memories AS d ON r.device_kind = d.device_kind
