-- Messages about programs that did not fit, each once a run: equal messages of many ranks and logs are one row.
-- The place is that of its first line in the first of its logs.
-- grain: run_id, message_id
WITH told AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY run_id, message_id ORDER BY relative_path, message_number
        ) AS telling,
        COUNT(DISTINCT relative_path) OVER (PARTITION BY run_id, message_id) AS log_count
    FROM staging.oom_messages
    WHERE dialect <> 'D'
)

SELECT
    run_id,  -- The run.
    message_id,  -- What the message says.
    relative_path,  -- The first log that says it.
    message_number,  -- Its number there.
    line_number,  -- Line in which it first begins there.
    log_count,  -- Logs that say it.
    dialect,  -- Form of the message.
    is_failure,  -- Says that something did not fit.
    memory_space_name,  -- Memory that does not suffice.
    NULLIF(module_name, '') AS module_name,  -- Module that it names.
    instruction_name,  -- Instruction that it names.
    shape_text,  -- Shape that it names.
    tag,  -- What the allocation that did not fit is for.
    capacity_bytes,  -- Bytes that it did not fit into.
    fault_text,  -- Why its figures are not relied on; null where they are.
    starts_with(message_text, 'Allocator ') AS is_rounded_up  -- Its allocation is printed rounded up to 256 bytes.
FROM told
WHERE telling = 1
