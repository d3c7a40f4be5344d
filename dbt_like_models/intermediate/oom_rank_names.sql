-- The ranks that printed a message, in all logs of a run together.
-- grain: run_id, message_id
WITH ranks AS (
    SELECT DISTINCT
        m.run_id,
        m.message_id,
        r.rank_name
    FROM staging.oom_messages AS m
    INNER JOIN staging.oom_ranks AS r
        ON m.run_id = r.run_id AND m.relative_path = r.relative_path AND m.message_number = r.message_number
)

SELECT
    run_id,  -- The run.
    message_id,  -- What the message says.
    COUNT(*) AS rank_count,  -- Ranks that say it.
    STRING_AGG(rank_name, ' ' ORDER BY rank_name) AS rank_names  -- Their names, as launchers write them.
FROM ranks
GROUP BY run_id, message_id
