-- The figures that a message about a program that did not fit prints, beside what the bytes of its dump give.
-- grain: run_id, relative_path, message_id, number_name
WITH sums AS (
    SELECT DISTINCT rule FROM intermediate.oom_rules
),

of_dump AS (  -- Where the main figure is a sum of bytes of the dump, what follows from it is, too.
    SELECT f.run_id, f.message_id
    FROM intermediate.oom_figures AS f
    INNER JOIN sums AS s ON f.rule = s.rule
    WHERE f.figure_name = 'used'
),

dialects AS (
    SELECT *
    FROM (
        VALUES
        ('T1', 'libtpu 0.0.8', 'libtpu 0.0.37'),
        ('T2', 'libtpu 0.0.37', 'libtpu 0.0.42.1'),
        ('T3', 'libtpu 0.0.42.1', NULL),
        ('T3b', 'libtpu after 0.0.42.1', NULL),
        ('T3r', 'libtpu 0.0.42.1', NULL)
    ) AS seen (dialect, since_text, below_text)
),

files AS (
    SELECT DISTINCT run_id, relative_path, dump_id FROM staging.observations
),

judged AS (
    SELECT
        o.run_id,
        o.relative_path,
        o.dump_id,
        m.message_id,
        m.dialect,
        m.fault_text,
        m.relative_path AS log_path,
        m.line_number,
        f.ordinal,
        f.figure_name,
        f.printed_text,
        f.figure_bytes,
        f.found_bytes,
        f.rule,
        f.is_reproduced,
        s.rule IS NOT NULL OR (
            u.message_id IS NOT NULL AND f.rule IN ('used without the capacity', 'used and reserved')
        ) AS is_sum,
        d.since_text,
        d.below_text
    FROM intermediate.oom_messages AS m
    INNER JOIN intermediate.oom_joined AS j ON m.run_id = j.run_id AND m.message_id = j.message_id
    INNER JOIN files AS o ON j.run_id = o.run_id AND j.dump_id = o.dump_id
    INNER JOIN intermediate.oom_figures AS f ON m.run_id = f.run_id AND m.message_id = f.message_id
    LEFT JOIN sums AS s ON f.rule = s.rule
    LEFT JOIN of_dump AS u ON m.run_id = u.run_id AND m.message_id = u.message_id
    LEFT JOIN dialects AS d ON m.dialect = d.dialect
)

SELECT
    run_id,  -- The run.
    relative_path,  -- The file of the dump.
    dump_id,  -- Its content.
    message_id,  -- What the message says.
    CAST(50 + ordinal AS BIGINT) AS number_order,  -- Its place among the numbers.
    'OOM message' AS said_by,  -- Who says it.
    figure_name AS number_name,  -- What it is called there.
    CASE
        WHEN is_sum OR found_bytes IS NOT NULL THEN COALESCE(rule, 'not_reproduced')
        WHEN is_reproduced THEN 'message_alone'
        ELSE 'unknown'
    END AS rule,  -- The rule of its compiler.
    CASE WHEN is_sum OR found_bytes IS NOT NULL THEN since_text END AS since_text,  -- First version that is known to follow it.
    CASE WHEN is_sum OR found_bytes IS NOT NULL THEN below_text END AS below_text,  -- First version that is not.
    is_sum AS is_compared,  -- Whether the rule was compared with messages of this form.
    CASE WHEN is_sum THEN figure_bytes ELSE found_bytes END AS computed_bytes,  -- What the rule gives.
    printed_text,  -- The figure as printed.
    CASE WHEN NOT is_sum AND is_reproduced THEN figure_bytes END AS printed_bytes,  -- Its bytes where the message alone tells them.
    CASE
        WHEN fault_text IS NOT NULL THEN 'unknown'
        WHEN is_sum THEN 'agrees'
        WHEN found_bytes IS NOT NULL THEN 'differs'
        WHEN is_reproduced THEN 'printed alone'
        ELSE 'unknown'
    END AS verdict,  -- Whether it is what the bytes give.
    concat_ws(
        '; ',
        'dialect ' || dialect || ', line ' || CAST(line_number AS VARCHAR) || ' of ' || log_path,
        CASE WHEN fault_text IS NOT NULL THEN 'the message is damaged: ' || fault_text END,
        CASE WHEN is_reproduced AND NOT is_sum THEN rule END
    ) AS why_text  -- Where it stands, and why no bytes of the dump stand against it.
FROM judged
