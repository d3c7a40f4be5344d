-- Refused dumps, and refused messages of logs, without their bytes.
-- grain: reject_id
SELECT
    reject_id,  -- Number of the reject in this warehouse.
    run_id,  -- The run it was found in.
    load_id,  -- The load that refused it.
    source_uri,  -- Where it was read from.
    relative_path,  -- Path below the run's root.
    sha256,  -- SHA-256 of its content.
    role,  -- Which file of the dump is at fault; log for a message of a log.
    rule,  -- grammar, contract:TABLE.COLUMN, check:NAME or an assertion of the reader; message for one of a log.
    line_number,  -- Line of the fault, from 1.
    column_number,  -- Column of the fault, from 1.
    expected,  -- What was expected there.
    found,  -- What was found.
    parser_version,  -- Version of bufferhouse that refused it.
    state,  -- open, replayed (a later parser took it) or resolved (the file was repaired).
    rejected_at  -- When it was refused (UTC).
FROM raw.rejects
