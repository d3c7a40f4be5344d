-- Logs that lie beside dumps: the newest row of each.
-- grain: run_id, relative_path
WITH replaced AS (
    SELECT
        run_id,
        relative_path,
        replaced_load_id AS load_id
    FROM raw.oom_logs
    WHERE replaced_load_id IS NOT NULL
)

SELECT
    l.run_id,  -- The run that the log is of.
    l.relative_path,  -- The log: its path below the run's root, from there with .. where it lies beside, else whole.
    l.load_id,  -- The load that read it.
    l.source_uri,  -- Where it was read from, archive members as archive!member.
    l.source_size_bytes,  -- Size of the file as it lies there.
    l.source_mtime_ns,  -- Its modification time, in nanoseconds since 1970.
    l.message_count,  -- Messages about memory that does not suffice, alike ones once.
    l.refused_count,  -- Lines that begin like a message and are none that is known.
    l.messages_load_id  -- The load that stored its messages: an older one where they are the same since.
FROM raw.oom_logs AS l
ANTI JOIN replaced AS n ON l.run_id = n.run_id AND l.relative_path = n.relative_path AND l.load_id = n.load_id
