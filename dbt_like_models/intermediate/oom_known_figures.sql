-- The figures of messages with the bytes that the message alone proves, or else the rule that gives them from its dump. A
-- message without figures has a row without a figure.
-- grain: run_id, message_id, figure_name
SELECT
    m.run_id,  -- The run.
    m.message_id,  -- The message.
    j.dump_id,  -- The dump that it is about; null where none is known to be meant.
    j.join_state,  -- Which dump that is, or why there is none.
    j.is_explained,  -- The message names the module of the dump, or the dump explains it.
    f.ordinal,  -- Place of the figure in the message.
    f.figure_name,  -- What it is a figure of.
    f.printed_text,  -- The figure as printed.
    f.nominal_bytes,  -- Bytes that it names, one size of many that are printed so.
    f.least_bytes,  -- Fewest bytes that are printed so.
    f.most_bytes,  -- Most bytes that are printed so.
    m.fault_text IS NOT NULL AS is_damaged,  -- The message is, and its figures are not judged.
    f.is_told OR COALESCE(s.is_reproduced, FALSE) AS is_known,  -- Its bytes are proved.
    CASE WHEN s.is_reproduced THEN s.rule_bytes ELSE f.told_bytes END AS known_bytes,  -- Its bytes; null where unknown.
    CASE
        WHEN s.is_reproduced THEN s.rule
        WHEN f.is_told AND m.dialect IN ('T5', 'T7') AND j.dump_id IS NOT NULL AND NOT j.has_named
            THEN 'as printed; the dump has no such value'
        WHEN f.is_told THEN f.told_rule
    END AS rule,  -- Which bytes it is the sum of.
    s.rule_bytes  -- What the rule of its compiler gives, printed so or not.
FROM intermediate.oom_messages AS m
INNER JOIN intermediate.oom_joined AS j ON m.run_id = j.run_id AND m.message_id = j.message_id
LEFT JOIN staging.oom_figures AS f
    ON m.run_id = f.run_id AND m.relative_path = f.relative_path AND m.message_number = f.message_number
LEFT JOIN intermediate.oom_sums AS s
    ON j.run_id = s.run_id AND j.message_id = s.message_id AND j.dump_id = s.dump_id
    AND f.figure_name = s.figure_name AND NOT f.is_told
