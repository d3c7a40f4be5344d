-- Messages about programs that did not fit, each once a run: what many ranks and logs say alike is one.
-- The place is that of its first line in the first of its logs.
-- grain: run_id, message_id
WITH told AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY run_id, message_id ORDER BY relative_path, message_number
        ) AS telling
    FROM staging.oom_messages
    WHERE dialect <> 'D'
),

logs AS (
    SELECT
        run_id,
        message_id,
        COUNT(DISTINCT relative_path) AS log_count
    FROM staging.oom_messages
    GROUP BY run_id, message_id
)

SELECT
    t.run_id,  -- The run.
    t.message_id,  -- What the message says.
    t.relative_path,  -- The first log that says it.
    t.message_number,  -- Its number there.
    t.line_number,  -- Line in which it first begins there.
    l.log_count,  -- Logs that say it.
    COALESCE(n.rank_count, 0) AS rank_count,  -- Ranks that say it, as launchers name them.
    n.rank_names,  -- Their names; null where no launcher writes any.
    t.dialect,  -- Form of the message.
    t.is_failure,  -- Says that something did not fit.
    t.memory_space_name,  -- Memory that does not suffice.
    NULLIF(t.module_name, '') AS module_name,  -- Module that it names.
    t.instruction_name,  -- Instruction that it names.
    t.shape_text,  -- Shape that it names.
    t.tag,  -- What the allocation that did not fit is for.
    t.capacity_bytes,  -- Bytes that it did not fit into.
    t.fault_text  -- Why its figures are not relied on; null where they are.
FROM told AS t
INNER JOIN logs AS l ON t.run_id = l.run_id AND t.message_id = l.message_id
LEFT JOIN intermediate.oom_rank_names AS n ON t.run_id = n.run_id AND t.message_id = n.message_id
WHERE t.telling = 1
