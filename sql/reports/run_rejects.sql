-- What was refused of a run and not taken since, with the place of the fault; the last ones first.
-- grain: reject_id
-- parameters: run_id, rejects (how many)
SELECT
    reject_id,  -- The reject.
    run_name,  -- The run.
    relative_path,  -- Path below the run's root.
    rule,  -- grammar, contract:<table.column> or check:<name>.
    line_number,  -- Line of the fault, from 1.
    column_number,  -- Column of the fault, from 1.
    expected,  -- What was expected there.
    found,  -- What was found.
    rejected_at  -- When it was refused (UTC).
FROM marts.rejects_v1
WHERE run_id = $run_id AND state = 'open'
ORDER BY rejected_at DESC, reject_id DESC
LIMIT $rejects
