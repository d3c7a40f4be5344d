-- The dumps that a message may be about, each with whether it has an allocation of just the size that a failure at run time
-- names, or of one that is printed so.
-- grain: run_id, message_id, dump_id
WITH candidates AS (
    SELECT * FROM intermediate.oom_named
),

sizes AS (
    SELECT
        c.run_id,
        c.message_id,
        c.dump_id,
        CASE
            WHEN c.is_rounded_up THEN f.size_bytes - 255
            ELSE COALESCE(f.size_bytes, f.least_bytes)
        END AS least_bytes,
        COALESCE(f.size_bytes, f.most_bytes) AS most_bytes
    FROM candidates AS c
    INNER JOIN staging.oom_figures AS f
        ON c.run_id = f.run_id AND c.relative_path = f.relative_path AND c.message_number = f.message_number
    WHERE c.dialect IN ('T8', 'G1', 'G2') AND f.figure_name = 'allocation'
),

sized AS (
    SELECT DISTINCT
        s.run_id,
        s.message_id,
        s.dump_id
    FROM sizes AS s
    INNER JOIN staging.allocation_sizes AS a
        ON s.dump_id = a.dump_id AND a.size_bytes BETWEEN s.least_bytes AND s.most_bytes
)

SELECT
    c.run_id,  -- The run.
    c.message_id,  -- The message.
    c.dump_id,  -- A dump that it may be about.
    c.dialect,  -- Its form.
    c.fault_text,  -- Why its figures are not relied on; null where they are.
    c.has_named,  -- The dump has what it names.
    s.dump_id IS NOT NULL AS has_size  -- The dump has an allocation of its size.
FROM candidates AS c
LEFT JOIN sized AS s ON c.run_id = s.run_id AND c.message_id = s.message_id AND c.dump_id = s.dump_id
