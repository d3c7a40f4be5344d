-- What was refused of some runs and not taken since, with the place of the fault; the last ones first.
-- grain: run_id, reject_id
-- parameters: run_ids, rejects (how many of each)
SELECT
    run_id,  -- The run.
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
WHERE run_id IN ($run_ids) AND state = 'open'
QUALIFY ROW_NUMBER() OVER (PARTITION BY run_id ORDER BY rejected_at DESC, reject_id DESC) <= $rejects
ORDER BY run_id ASC, rejected_at DESC, reject_id DESC
