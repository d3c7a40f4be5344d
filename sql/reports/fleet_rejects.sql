-- What was refused last and not taken since, with the place of the fault.
-- grain: reject_id
-- parameters: rejects (how many)
SELECT
    j.reject_id,  -- The reject.
    r.run_name,  -- The run it was found in.
    j.relative_path,  -- Path below the run's root.
    j.rule,  -- grammar, contract:<table.column> or check:<name>.
    j.line_number,  -- Line of the fault, from 1.
    j.column_number,  -- Column of the fault, from 1.
    j.expected,  -- What was expected there.
    j.found,  -- What was found.
    j.rejected_at  -- When it was refused (UTC).
FROM raw.rejects AS j
INNER JOIN staging.runs AS r ON j.run_id = r.run_id
WHERE j.state = 'open'
ORDER BY j.rejected_at DESC, j.reject_id DESC
LIMIT $rejects
