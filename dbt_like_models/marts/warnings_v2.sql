-- Soft rules that a dump breaks, as in version 1, and module texts beside it whose heads cannot be read.
-- Such a dump is loaded, and its numbers stand: what it lacks are source lines. The rule is `stack_frames_readable`.
-- grain: dump_id, rule
-- portable: yes
SELECT
    dump_id,  -- The dump.
    rule,  -- The rule it breaks: the name of a check of severity warn, or stack_frames_readable.
    occurrence_count,  -- How often it breaks it; files whose module text cannot be read.
    expected,  -- What was expected, of the first offence in the order of these two texts.
    found  -- What was found there; of a module text the place in it, too.
FROM marts.warnings_v1
UNION ALL
SELECT
    dump_id,
    'stack_frames_readable' AS rule,
    CAST(COUNT(*) AS BIGINT) AS occurrence_count,
    'a module text whose head can be read' AS expected,
    MIN(stack_frames_fault) AS found
FROM staging.observations
WHERE stack_frames_fault IS NOT NULL
GROUP BY dump_id
