-- The ranks that printed these messages.
-- grain: run_id, relative_path, message_number, ordinal
SELECT
    m.run_id,  -- The run that the log is of.
    m.relative_path,  -- The log: its path below the run's root, from there with .. where it lies beside, else whole.
    m.message_number,  -- Number of the message in its log, from 0.
    m.ordinal,  -- Place among the ranks that said it, from 0.
    m.rank_name  -- The rank as the launcher writes it, such as [rank3]:.
FROM raw.oom_ranks AS m
INNER JOIN staging.oom_logs AS l
    ON m.run_id = l.run_id AND m.relative_path = l.relative_path AND m.load_id = l.messages_load_id
