-- The figures of these messages, as printed, and the bytes of each if the message alone proves them.
-- grain: run_id, relative_path, message_number, ordinal
SELECT
    m.run_id,  -- The run that the log is of.
    m.relative_path,  -- The log: its path below the run's root, from there with .. where it lies beside, else whole.
    m.message_number,  -- Number of the message in its log, from 0.
    m.ordinal,  -- Place of the figure in the message, from 0.
    m.figure_name,  -- What it is a figure of, such as used, capacity, hlo_temp.
    m.printed_text,  -- The figure as printed, such as 19.07G.
    m.size_bytes,  -- Its bytes where they are printed; null where it is rounded.
    m.nominal_bytes,  -- Bytes that it names, one size of many that are printed so.
    m.least_bytes,  -- Fewest bytes that are printed so; null where none are.
    m.most_bytes,  -- Most bytes that are printed so.
    m.told_bytes,  -- Its bytes as the message alone proves them.
    m.told_rule,  -- How the message alone proves them, such as as printed.
    m.is_told  -- The message alone proves its bytes; else it takes a dump.
FROM raw.oom_figures AS m
INNER JOIN staging.oom_logs AS l
    ON m.run_id = l.run_id AND m.relative_path = l.relative_path AND m.load_id = l.messages_load_id
