-- The soft rules that some dumps break.
-- grain: dump_id, rule
-- parameters: dump_ids
SELECT
    dump_id,  -- The dump.
    rule,  -- Name of a check of severity warn, or of a rule about files beside it.
    occurrence_count,  -- How often it breaks it.
    expected,  -- What was expected first.
    found  -- What was found there.
FROM marts.warnings_v3
WHERE dump_id IN ($dump_ids)
ORDER BY dump_id, rule
