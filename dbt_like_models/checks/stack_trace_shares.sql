-- The percentage of a node of the stack trace tree is its share of all bytes of the tree, rounded to a tenth
-- (FormatNodeString, hlo_stack_trace.cc).
-- severity: warn
WITH shares AS (
    SELECT n.*, 100.0 * n.total_bytes / NULLIF(r.total_bytes, 0) AS computed_percent
    FROM intermediate.trace_nodes AS n
    INNER JOIN intermediate.trace_nodes AS r ON n.dump_id = r.dump_id AND r.ordinal = 0
)

SELECT
    dump_id,  -- The dump.
    CAST(ROUND(computed_percent, 1) AS VARCHAR) || '%' AS expected,  -- Its share.
    CAST(share_percent AS VARCHAR) || '% in node ' || CAST(ordinal AS VARCHAR) || ' of the stack trace'
        AS found  -- What the node says.
FROM shares
-- A tenth that is half way may be printed either way.
WHERE ABS(share_percent - computed_percent) > 0.0501
