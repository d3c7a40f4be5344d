-- Committed batches.
-- grain: load_id
SELECT
    load_id,  -- Number of the load in this warehouse.
    started_at,  -- When the batch was begun (UTC).
    finished_at,  -- When the batch was committed (UTC).
    parser_version,  -- Version of bufferhouse that parsed the batch.
    seen_count,  -- Dumps looked at.
    new_count,  -- Contents that were not in the warehouse.
    known_count,  -- Dumps whose content was in the warehouse already.
    rejected_count,  -- Dumps refused.
    text_bytes  -- Bytes of text read.
FROM raw.loads
