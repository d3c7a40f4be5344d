-- All official numbers of each dump, from all sources.
-- grain: run_id, relative_path, number_order, memory_space, message_id
SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    number_order,  -- Place of the number among those of a dump.
    said_by,  -- Who says it.
    number_name,  -- What it is called there.
    CAST(NULL AS BIGINT) AS memory_space,  -- The memory space that it is of.
    CAST(NULL AS BIGINT) AS message_id,  -- The message that prints it.
    rule,  -- The rule by which it comes from the bytes.
    since_text,  -- First release that is known to follow it.
    below_text,  -- First release that is not.
    is_compared,  -- Whether it was compared with such numbers of a release as new as this one.
    computed_bytes,  -- What the rule gives.
    CAST(NULL AS BIGINT) AS computed_position,  -- Moment of the schedule that it gives.
    CAST(NULL AS VARCHAR) AS printed_text,  -- The number as a message prints it.
    CAST(NULL AS BIGINT) AS printed_bytes,  -- The number itself.
    CAST(NULL AS BIGINT) AS printed_position,  -- Moment of the schedule that is printed.
    verdict,  -- Whether it is what the bytes give.
    why_text  -- Why there are no bytes, or nothing stands against them.
FROM intermediate.analysis_numbers
UNION ALL
SELECT
    run_id, relative_path, dump_id, number_order, said_by, number_name, NULL, NULL, rule, since_text, NULL, is_compared,
    computed_bytes, NULL, NULL, printed_bytes, NULL, verdict, why_text
FROM intermediate.printed_totals
UNION ALL
SELECT
    run_id, relative_path, dump_id, number_order, said_by, number_name, NULL, NULL, rule, since_text, NULL, is_compared,
    computed_bytes, computed_position, NULL, printed_bytes, printed_position, verdict, why_text
FROM intermediate.printed_peaks
UNION ALL
SELECT
    run_id, relative_path, dump_id, number_order, said_by, number_name, memory_space, NULL, rule, since_text, below_text,
    is_compared, computed_bytes, NULL, NULL, NULL, NULL, verdict, why_text
FROM intermediate.report_numbers
UNION ALL
SELECT
    run_id, relative_path, dump_id, number_order, said_by, number_name, memory_space, NULL, rule, since_text, NULL,
    is_compared, computed_bytes, NULL, NULL, NULL, NULL, verdict, why_text
FROM intermediate.xprof_numbers
UNION ALL
SELECT
    run_id, relative_path, dump_id, number_order, said_by, number_name, NULL, message_id, rule, since_text, below_text,
    is_compared, computed_bytes, NULL, printed_text, printed_bytes, NULL, verdict, why_text
FROM intermediate.message_numbers
