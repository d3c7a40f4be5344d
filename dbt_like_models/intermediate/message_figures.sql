-- The figures of each message about a program that did not fit, beside the file of the dump that it is about.
-- grain: run_id, relative_path, message_id, figure_name
WITH sums AS (
    SELECT DISTINCT rule FROM intermediate.oom_rules
),

files AS (
    SELECT DISTINCT run_id, relative_path, dump_id FROM staging.observations
)

SELECT
    o.run_id,  -- The run.
    o.relative_path,  -- The file of the dump.
    f.dump_id,  -- Its content.
    m.message_id,  -- What the message says.
    m.dialect,  -- Its form.
    m.fault_text,  -- Why its figures are not relied on; null where they are.
    m.relative_path AS log_path,  -- The first log that says it.
    m.line_number,  -- Line in which it begins there.
    f.ordinal,  -- Place of the figure in the message.
    f.figure_name,  -- What it is a figure of.
    f.printed_text,  -- The figure as printed.
    f.figure_bytes,  -- Its bytes; null where they are unknown.
    f.found_bytes,  -- What the rule gives where that is not printed so.
    f.rule,  -- Which bytes it is the sum of.
    f.is_reproduced,  -- Its bytes are printed as the figure is.
    -- If the main figure is a sum of bytes of the dump, the figures that follow from it are, too.
    s.rule IS NOT NULL OR (
        f.rule IN ('used without the capacity', 'used and reserved')
        AND BOOL_OR(s.rule IS NOT NULL AND f.figure_name = 'used') OVER (
            PARTITION BY f.run_id, f.message_id, f.dump_id
        )
    ) AS is_sum,  -- They are bytes of the dump, or follow from such.
    d.since_text,  -- First release that writes messages of this form.
    d.below_text  -- First release that writes others.
FROM intermediate.oom_messages AS m
INNER JOIN intermediate.oom_figures AS f ON m.run_id = f.run_id AND m.message_id = f.message_id
INNER JOIN files AS o ON f.run_id = o.run_id AND f.dump_id = o.dump_id
LEFT JOIN sums AS s ON f.rule = s.rule
LEFT JOIN intermediate.oom_dialects AS d ON m.dialect = d.dialect
WHERE f.figure_name IS NOT NULL
