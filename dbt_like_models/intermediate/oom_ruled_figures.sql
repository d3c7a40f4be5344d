-- Which rule each figure of a message follows, if only a dump gives its bytes. A damaged message follows none.
-- grain: run_id, message_id, figure_name
WITH printed AS (
    SELECT
        m.run_id,
        m.message_id,
        m.dialect,
        f.figure_name,
        f.printed_text,
        f.size_bytes,
        f.least_bytes,
        f.most_bytes,
        f.is_told
    FROM intermediate.oom_messages AS m
    INNER JOIN staging.oom_figures AS f
        ON m.run_id = f.run_id AND m.relative_path = f.relative_path AND m.message_number = f.message_number
    WHERE m.fault_text IS NULL
),

ruled AS (
    SELECT
        p.run_id,
        p.message_id,
        p.figure_name,
        p.size_bytes, p.least_bytes, p.most_bytes,
        r.rule,
        r.is_of_parameters,
        r.is_of_temporaries,
        r.is_of_outputs,
        r.is_of_shared,
        r.is_of_constants,
        r.is_of_thread_local,
        ROW_NUMBER() OVER (PARTITION BY p.run_id, p.message_id, p.figure_name ORDER BY r.rule_number) AS choice
    FROM printed AS p
    INNER JOIN intermediate.oom_rules AS r ON p.dialect = r.dialect AND p.figure_name = r.figure_name
    LEFT JOIN printed AS w
        ON p.run_id = w.run_id AND p.message_id = w.message_id AND r.without_figure = w.figure_name
        AND w.printed_text <> '0B'
    LEFT JOIN printed AS b
        ON p.run_id = b.run_id AND p.message_id = b.message_id AND r.beside_figure = b.figure_name
        AND b.printed_text <> '0B'
    WHERE NOT p.is_told AND w.figure_name IS NULL AND (r.beside_figure IS NULL OR b.figure_name IS NOT NULL)
)

SELECT
    run_id,  -- The run.
    message_id,  -- The message.
    figure_name,  -- The figure.
    size_bytes,  -- Its bytes where they are printed; null where it is rounded.
    least_bytes,  -- Fewest bytes that are printed so.
    most_bytes,  -- Most bytes that are printed so.
    rule,  -- Name of the rule.
    is_of_parameters,  -- Parameters are added up.
    is_of_temporaries,  -- Temporaries are.
    is_of_outputs,  -- Outputs are that are not placed on parameters.
    is_of_shared,  -- Outputs are that are.
    is_of_constants,  -- Constants are.
    is_of_thread_local  -- Thread-local allocations are.
FROM ruled
WHERE choice = 1
