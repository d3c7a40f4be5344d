-- Arguments that JAX says it could not donate (`Some donated buffers were not usable`), one a row: each warning once a run.
-- grain: run_id, message_id, argument_number
WITH told AS (
    SELECT
        run_id,
        relative_path,
        message_number,
        message_id,
        line_number,
        fault_text,
        message_text,
        ROW_NUMBER() OVER (PARTITION BY run_id, message_id ORDER BY relative_path, message_number) AS telling
    FROM staging.oom_messages
    WHERE dialect = 'D'
),

arguments AS (
    SELECT
        t.run_id,
        t.message_id,
        t.relative_path,
        t.line_number,
        t.fault_text,
        strpos(t.message_text, 'Donation is not implemented for ') > 0 AS is_unimplemented,
        a.ordinal,
        a.shape_text,
        regexp_extract(a.shape_text, '^(ShapedArray[(])?([a-z][a-z0-9_]*)[[]([0-9,]*)[]]', 2) AS dtype_name,
        regexp_extract(a.shape_text, '^(ShapedArray[(])?([a-z][a-z0-9_]*)[[]([0-9,]*)[]]', 3) AS dimensions
    FROM told AS t
    INNER JOIN staging.oom_allocations AS a
        ON t.run_id = a.run_id AND t.relative_path = a.relative_path AND t.message_number = a.message_number
    WHERE t.telling = 1
)

SELECT
    a.run_id,  -- The run.
    a.message_id,  -- What the warning says.
    CAST(a.ordinal + 1 AS BIGINT) AS argument_number,  -- Place of the argument in it, from 1.
    a.relative_path AS log_path,  -- The first log that says it.
    a.line_number,  -- Line in which it begins there.
    a.shape_text,  -- The argument as printed.
    CASE
        WHEN a.dtype_name <> '' THEN COALESCE(e.element_type, a.dtype_name) || '[' || a.dimensions || ']'
    END AS array_shape,  -- Its shape as XLA writes it; null where the form is not known, or a dimension is sharded.
    a.is_unimplemented,  -- JAX adds that it donates nothing on this platform.
    a.fault_text  -- What is wrong with the warning: it is cut, say.
FROM arguments AS a
LEFT JOIN intermediate.element_types AS e ON a.dtype_name = e.dtype_name
