-- The dumps that have an allocation of just the size that a failure at run time names, or of one that is printed so.
-- grain: run_id, message_id, dump_id
WITH sizes AS (
    SELECT
        m.run_id,
        m.message_id,
        CASE
            WHEN starts_with(m.message_text, 'Allocator ') THEN f.size_bytes - 255  -- It rounds up to 256.
            ELSE COALESCE(f.size_bytes, f.least_bytes)
        END AS least_bytes,
        COALESCE(f.size_bytes, f.most_bytes) AS most_bytes
    FROM intermediate.oom_messages AS m
    INNER JOIN staging.oom_figures AS f
        ON m.run_id = f.run_id AND m.relative_path = f.relative_path AND m.message_number = f.message_number
    WHERE m.dialect IN ('T8', 'G1', 'G2') AND f.figure_name = 'allocation'
)

SELECT DISTINCT
    c.run_id,  -- The run.
    c.message_id,  -- The message.
    c.dump_id  -- A dump that has such an allocation.
FROM intermediate.oom_candidates AS c
INNER JOIN sizes AS s ON c.run_id = s.run_id AND c.message_id = s.message_id
INNER JOIN staging.allocations AS a
    ON c.dump_id = a.dump_id AND a.size_bytes BETWEEN s.least_bytes AND s.most_bytes
