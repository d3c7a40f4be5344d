-- What was refused of each run.
-- grain: run_id
SELECT
    j.run_id,  -- The run.
    CAST(COUNT(CASE WHEN j.state = 'open' THEN 1 END) AS BIGINT) AS reject_count,  -- Refused and not taken since.
    CAST(COUNT(CASE WHEN j.state = 'open' AND j.role <> 'log' THEN 1 END) AS BIGINT)
        AS refused_dump_count,  -- Of these, dumps; others are messages of logs.
    MAX(l.finished_at) AS rejected_at  -- When the last load that refused one of them ended (UTC).
FROM staging.rejects AS j
INNER JOIN staging.loads AS l ON j.load_id = l.load_id
GROUP BY j.run_id
