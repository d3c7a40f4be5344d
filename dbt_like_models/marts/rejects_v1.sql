-- Refused dumps, and refused messages of logs, with the place of the fault; `bufferhouse rejects show` writes their bytes.
-- grain: reject_id
-- portable: yes
SELECT
    j.reject_id,  -- The reject.
    j.run_id,  -- The run it was found in.
    r.run_name,  -- Its name.
    j.relative_path,  -- Path below the run's root.
    j.sha256,  -- SHA-256 of its content.
    j.rule,  -- grammar, contract:TABLE.COLUMN, check:NAME or an assertion of the reader; message for one of a log.
    j.line_number,  -- Line of the fault, from 1.
    j.column_number,  -- Column of the fault, from 1.
    j.expected,  -- What was expected there.
    j.found,  -- What was found.
    j.state,  -- open, replayed (a later parser took it) or resolved (the file was repaired).
    j.rejected_at  -- When it was refused (UTC).
FROM staging.rejects AS j
INNER JOIN staging.runs AS r ON j.run_id = r.run_id
