-- The runs in the order of their series, each with what was seen of it.
-- grain: run_id
WITH sightings AS (
    SELECT
        run_id,
        COUNT(*) AS dump_count,
        COUNT(DISTINCT dump_id) AS content_count,
        COUNT(DISTINCT program_id) AS program_count
    FROM staging.observations
    GROUP BY run_id
),

refusals AS (
    SELECT
        run_id,
        COUNT(*) AS reject_count
    FROM raw.rejects
    WHERE state = 'open'
    GROUP BY run_id
)

SELECT
    r.run_id,  -- The run.
    r.run_name,  -- Its name.
    r.compiler,  -- What embeds XLA.
    r.compiler_version,  -- Version of the compiler.
    r.platform,  -- cpu, gpu or tpu; null where nobody said.
    r.track,  -- Label that tells series apart.
    r.started_at,  -- When it started (UTC).
    r.started_at_source,  -- Where that time comes from.
    COALESCE(s.dump_count, 0) AS dump_count,  -- Dumps seen, repeats counted each time.
    COALESCE(s.content_count, 0) AS content_count,  -- Different contents among them.
    COALESCE(s.program_count, 0) AS program_count,  -- Programs.
    COALESCE(f.reject_count, 0) AS reject_count  -- Refused and not taken since.
FROM staging.runs AS r
LEFT JOIN sightings AS s ON r.run_id = s.run_id
LEFT JOIN refusals AS f ON r.run_id = f.run_id
ORDER BY r.started_at ASC, r.natural_name ASC, r.run_id ASC
