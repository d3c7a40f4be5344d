-- The figures that a message about a program that did not fit prints, beside what the bytes of its dump give.
-- grain: run_id, relative_path, message_id, number_name
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
FROM intermediate.message_figures
