-- The dump that each message is about, or why there is none: among several candidates, the only one that explains it.
-- grain: run_id, message_id
WITH candidates AS (
    SELECT * FROM intermediate.oom_explained
),

counted AS (
    SELECT
        run_id,
        message_id,
        COUNT(*) AS candidate_count
    FROM candidates
    GROUP BY run_id, message_id
),

fitting AS (
    SELECT
        c.run_id,
        c.message_id,
        COUNT(*) AS fitting_count,
        MIN(c.dump_id) AS dump_id,
        BOOL_OR(c.has_named) AS has_named,
        BOOL_OR(c.is_explained) AS is_explained,
        BOOL_OR(c.is_sum) AS is_sum
    FROM candidates AS c
    INNER JOIN counted AS n ON c.run_id = n.run_id AND c.message_id = n.message_id
    WHERE c.is_explained OR (n.candidate_count = 1 AND c.dialect <> 'T4')
    GROUP BY c.run_id, c.message_id
)

SELECT
    m.run_id,  -- The run.
    m.message_id,  -- The message.
    CASE WHEN f.fitting_count = 1 THEN f.dump_id END AS dump_id,  -- The dump; null where none is known to be meant.
    CASE
        WHEN f.fitting_count = 1 THEN 'joined'
        WHEN f.fitting_count > 1 THEN 'several fit as well'
        WHEN n.candidate_count IS NULL AND m.module_name IS NOT NULL THEN 'no dump of the module'
        WHEN n.candidate_count IS NULL THEN 'no dump'
        ELSE 'none explains it'
    END AS join_state,  -- joined, several fit as well, no dump, no dump of the module, or none explains it.
    COALESCE(f.fitting_count = 1 AND f.has_named, FALSE) AS has_named,  -- The dump has what the message names.
    -- A run's only dump may be that of another program, which fits.
    COALESCE(
        f.fitting_count = 1 AND (f.is_explained OR m.module_name IS NOT NULL), FALSE
    ) AS is_explained,  -- The message names the module of the dump, or the dump explains it.
    COALESCE(f.fitting_count = 1 AND f.is_sum, FALSE) AS is_sum,  -- The main figure is a sum of the bytes of the dump.
    m.is_failure,  -- Says that something did not fit.
    m.memory_space_name,  -- Memory that does not suffice.
    m.capacity_bytes  -- Bytes that it did not fit into.
FROM intermediate.oom_messages AS m
LEFT JOIN counted AS n ON m.run_id = n.run_id AND m.message_id = n.message_id
LEFT JOIN fitting AS f ON m.run_id = f.run_id AND m.message_id = f.message_id
