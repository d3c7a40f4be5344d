-- The figures of messages about programs that did not fit, each with the bytes that it is the sum of.
-- grain: run_id, message_id, figure_name
-- portable: no, because a message is joined to the dump that has its words by functions of texts of DuckDB
SELECT
    f.run_id,  -- The run.
    r.run_name,  -- Its name.
    f.message_id,  -- What the message says; see marts.oom.
    f.ordinal,  -- Place of the figure in the message, from 0.
    f.figure_name,  -- What it is a figure of: used, capacity, exceeded, hlo_temp and so on.
    f.printed_text,  -- The figure as printed.
    f.figure_bytes,  -- Its bytes; null where they are unknown.
    f.rule,  -- Which bytes it is the sum of; null where that is unknown.
    f.is_reproduced,  -- Its bytes are printed as the figure is.
    f.found_bytes  -- What the rule of its compiler gives where that is not printed so.
FROM intermediate.oom_figures AS f
INNER JOIN staging.runs AS r ON f.run_id = r.run_id
WHERE f.figure_name IS NOT NULL
