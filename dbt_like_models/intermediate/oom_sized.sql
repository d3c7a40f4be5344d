-- The dumps that have an allocation of just the size that a failure at run time names, or of one that is printed so.
-- grain: run_id, message_id, dump_id
WITH sizes AS (
    SELECT
        c.run_id,
        c.message_id,
        c.dump_id,
        CASE
            WHEN c.is_rounded_up THEN f.size_bytes - 255
            ELSE COALESCE(f.size_bytes, f.least_bytes)
        END AS least_bytes,
        COALESCE(f.size_bytes, f.most_bytes) AS most_bytes
    FROM intermediate.oom_candidates AS c
    INNER JOIN staging.oom_figures AS f
        ON c.run_id = f.run_id AND c.relative_path = f.relative_path AND c.message_number = f.message_number
    WHERE c.dialect IN ('T8', 'G1', 'G2') AND f.figure_name = 'allocation'
)

SELECT DISTINCT
    s.run_id,  -- The run.
    s.message_id,  -- The message.
    s.dump_id  -- A dump that has such an allocation.
FROM sizes AS s
INNER JOIN staging.allocations AS a
    ON s.dump_id = a.dump_id AND a.size_bytes BETWEEN s.least_bytes AND s.most_bytes
