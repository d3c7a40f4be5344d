-- The soft rules that a dump breaks.
-- grain: rule
-- parameters: dump_id
SELECT
    rule,  -- Name of a check of severity warn.
    occurrence_count,  -- How often it breaks it.
    expected,  -- What was expected first.
    found  -- What was found there.
FROM marts.warnings_v1
WHERE dump_id = $dump_id
ORDER BY rule
