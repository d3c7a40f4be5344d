-- A node of the stack trace tree has the bytes of its own and those of its children (FormatNode, hlo_stack_trace.cc).
-- severity: warn
WITH below AS (
    SELECT dump_id, parent_ordinal, SUM(total_bytes) AS total_bytes FROM intermediate.trace_nodes
    GROUP BY dump_id, parent_ordinal
)

SELECT
    n.dump_id,  -- The dump.
    CAST(n.current_bytes + COALESCE(b.total_bytes, 0) AS VARCHAR) || ' bytes in all' AS expected,  -- By its parts.
    CAST(n.total_bytes AS VARCHAR) || ' in node ' || CAST(n.ordinal AS VARCHAR) || ' of the stack trace'
        AS found  -- What the node says.
FROM intermediate.trace_nodes AS n
LEFT JOIN below AS b ON n.dump_id = b.dump_id AND n.ordinal = b.parent_ordinal
WHERE n.total_bytes IS DISTINCT FROM n.current_bytes + COALESCE(b.total_bytes, 0)
