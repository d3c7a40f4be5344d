-- The layout of an array names the memory space of its value as S(n), or names none for 0 (Layout::Print; the Colorer
-- of the backends reads it there).
-- severity: warn
SELECT
    v.dump_id,  -- The dump.
    'memory space ' || CAST(COALESCE(s.layout_memory_space, 0) AS VARCHAR) || ', as in ' || s.shape_text
        AS expected,  -- What the layout says.
    'value ' || CAST(v.value_id AS VARCHAR) || ' in ' || CAST(v.memory_space AS VARCHAR) AS found  -- The value's own.
FROM raw.hlo_values AS v
INNER JOIN raw.shapes AS s ON v.shape_id = s.shape_id
WHERE s.tuple_arity IS NULL AND v.memory_space <> COALESCE(s.layout_memory_space, 0)
