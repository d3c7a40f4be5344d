-- What was refused last and not taken since, with the place of the fault.
-- grain: reject_id
-- parameters: rejects (how many)
SELECT
    reject_id,  -- The reject.
    run_name,  -- The run it was found in.
    relative_path,  -- Path below the run's root.
    rule,  -- grammar, contract:<table.column> or check:<name>.
    line_number,  -- Line of the fault, from 1.
    column_number,  -- Column of the fault, from 1.
    expected,  -- What was expected there.
    found,  -- What was found.
    rejected_at  -- When it was refused (UTC).
FROM marts.rejects_v1
WHERE state = 'open'
ORDER BY rejected_at DESC, reject_id DESC
LIMIT $rejects
