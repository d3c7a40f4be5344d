-- What was seen of each run.
-- grain: run_id
SELECT
    o.run_id,  -- The run.
    MAX(o.platform) AS platform,  -- cpu, gpu or tpu, as its dumps say: a job on an accelerator compiles for the CPU, too.
    CAST(COUNT(*) AS BIGINT) AS dump_count,  -- Dumps seen, repeats counted each time.
    CAST(COUNT(DISTINCT o.dump_id) AS BIGINT) AS content_count,  -- Different contents among them.
    CAST(COUNT(DISTINCT o.program_id) AS BIGINT) AS program_count,  -- Programs.
    CAST(SUM(d.text_bytes) AS BIGINT) AS text_bytes,  -- Bytes of text, repeats counted each time.
    MAX(l.finished_at) AS loaded_at  -- When the last load that saw one of them ended (UTC).
FROM staging.observations AS o
INNER JOIN staging.contents AS d ON o.dump_id = d.dump_id
INNER JOIN staging.loads AS l ON o.load_id = l.load_id
GROUP BY o.run_id
