-- Soft rules that a dump breaks, as in version 2, and what else lies beside it that cannot be read or does not agree:
-- `compile_flags_readable`, `proto_readable`, `proto_agrees`. Such a file is left aside; the dump is loaded. A dump in
-- several files that lacks one breaks `split_files_complete`: XLA writes values and live ranges, or neither.
-- grain: dump_id, rule
-- portable: yes
WITH faults AS (
    SELECT
        dump_id,
        'compile_flags_readable' AS rule,
        'files with options that can be read' AS expected,
        compile_flags_fault AS found
    FROM staging.observations
    UNION ALL
    SELECT dump_id, 'proto_readable', 'a proto that can be read', proto_fault FROM staging.observations
    UNION ALL
    SELECT dump_id, 'proto_agrees', 'what the text says', proto_difference FROM staging.observations
    UNION ALL
    SELECT
        dump_id,
        'split_files_complete',
        'files of values and of live ranges, or neither',
        CASE WHEN live_range_state = 'absent' THEN 'no file -live-range.txt' ELSE 'no file -buffer-assignment-values.txt' END
    FROM staging.contents
    WHERE file_layout = 'split' AND (used_values_state = 'absent') <> (live_range_state = 'absent')
)

SELECT
    dump_id,  -- The dump.
    rule,  -- The rule it breaks: the name of a check of severity warn, or of a rule about what lies beside it.
    occurrence_count,  -- How often it breaks it; files beside which it is broken.
    expected,  -- What was expected, of the first offence in the order of these two texts.
    found  -- What was found there.
FROM marts.warnings_v2
UNION ALL
SELECT
    dump_id,
    rule,
    CAST(COUNT(*) AS BIGINT) AS occurrence_count,
    MIN(expected) AS expected,
    MIN(found) AS found
FROM faults
WHERE found IS NOT NULL
GROUP BY dump_id, rule
