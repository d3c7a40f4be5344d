-- Padding by framework operation and source line, arguments and outputs included.
-- Without live ranges the peak is not known, and its parts are null.
-- grain: dump_id, memory_space, op_name, source_file, source_line
-- portable: yes
SELECT
    p.dump_id,  -- The dump.
    p.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    t.op_name,  -- Name of the framework operation; null where none is printed.
    t.source_file,  -- Source file of the user's program; null where neither dump nor module text says it.
    t.source_line,  -- Line in it.
    CAST(COUNT(*) AS BIGINT) AS value_count_all_values,  -- Values it defines.
    CAST(SUM(p.size_bytes) AS BIGINT) AS slot_bytes_all_values,  -- Their slots. Values share bytes: never memory.
    CAST(SUM(p.layout_padding_bytes) AS BIGINT) AS layout_padding_bytes_all_values,  -- Of these, what tiles add.
    CAST(SUM(p.slack_bytes) AS BIGINT) AS slack_bytes_all_values,  -- Of these, slack; may be negative.
    CAST(SUM(p.peak_occupied_bytes) AS BIGINT) AS occupied_bytes,  -- Bytes such values own at the occupied peak.
    CAST(SUM(p.peak_layout_padding_bytes) AS BIGINT) AS layout_padding_bytes,  -- Of these, what tiles add.
    CAST(SUM(p.peak_slack_bytes) AS BIGINT) AS slack_bytes  -- Of these, slack.
FROM intermediate.padded_values AS p
LEFT JOIN staging.instruction_texts AS t
    ON p.dump_id = t.dump_id AND p.instruction_text_id = t.instruction_text_id
GROUP BY p.dump_id, p.memory_space, t.op_name, t.source_file, t.source_line
