-- Which dump a message is about; the bytes that it says were needed, the bytes there were, and the excess.
-- grain: run_id, message_id
WITH chosen AS (
    SELECT
        *,
        CASE figure_name WHEN 'capacity' THEN 1 WHEN 'scoped_limit' THEN 2 END AS limit_order,
        CASE figure_name
            WHEN 'used' THEN 1 WHEN 'allocation' THEN 2 WHEN 'words' THEN 3 WHEN 'scoped_size' THEN 4
        END AS need_order
    FROM intermediate.oom_figures
),

firsts AS (
    SELECT
        run_id,
        message_id,
        MIN(dump_id) AS dump_id,
        MIN(join_state) AS join_state,
        BOOL_OR(is_explained) AS is_explained,
        MIN(limit_order) AS limit_order,
        MIN(need_order) AS need_order
    FROM chosen
    GROUP BY run_id, message_id
)

SELECT
    f.run_id,  -- The run.
    f.message_id,  -- The message.
    f.dump_id,  -- The dump; null where none is known to be meant.
    f.join_state,  -- Which dump that is, or why there is none.
    f.is_explained,  -- The message names the module of the dump, or the dump explains it.
    n.figure_name,  -- Which figure says what was needed.
    n.printed_text,  -- What was needed, as printed.
    n.figure_bytes,  -- The same in bytes; null where no rule reproduces it.
    n.rule,  -- Which bytes that is.
    COALESCE(n.is_reproduced, FALSE) AS is_reproduced,  -- Its bytes are printed as the figure is.
    n.found_bytes,  -- What the rule of its compiler gives where that is not printed so.
    l.printed_text AS capacity_text,  -- What there was, as printed.
    l.figure_bytes IS NOT NULL AS is_capacity_exact,  -- Its bytes are known; else it stands for a range of them.
    e.nominal_bytes AS exceeded_bytes  -- Bytes that the figure of what is too much names.
FROM firsts AS f
LEFT JOIN chosen AS n ON f.run_id = n.run_id AND f.message_id = n.message_id AND f.need_order = n.need_order
LEFT JOIN chosen AS l ON f.run_id = l.run_id AND f.message_id = l.message_id AND f.limit_order = l.limit_order
LEFT JOIN chosen AS e ON f.run_id = e.run_id AND f.message_id = e.message_id AND e.figure_name = 'exceeded'
