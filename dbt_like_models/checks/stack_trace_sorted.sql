-- Children of a node of the stack trace tree are sorted by their bytes, descending (hlo_stack_trace.cc).
-- severity: warn
WITH siblings AS (
    SELECT
        dump_id,
        ordinal,
        total_bytes,
        LAG(total_bytes) OVER (PARTITION BY dump_id, parent_ordinal ORDER BY ordinal) AS previous_bytes
    FROM intermediate.trace_nodes
)

SELECT
    dump_id,  -- The dump.
    'at most ' || CAST(previous_bytes AS VARCHAR) || ' bytes, as in the node before' AS expected,  -- The node before.
    CAST(total_bytes AS VARCHAR) || ' in node ' || CAST(ordinal AS VARCHAR) || ' of the stack trace'
        AS found  -- What the node says.
FROM siblings
WHERE total_bytes > previous_bytes
