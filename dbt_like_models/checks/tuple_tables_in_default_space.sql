-- The pointer table of a tuple lies in memory space 0 (the Colorer of the backends), or in 7 in programs of a SparseCore.
-- severity: warn
SELECT
    v.dump_id,  -- The dump.
    'a tuple table in memory space 0' AS expected,  -- Where tuple tables lie.
    'value ' || CAST(v.value_id AS VARCHAR) || ' in ' || CAST(v.memory_space AS VARCHAR) AS found  -- Where this one is.
FROM raw.hlo_values AS v
INNER JOIN raw.shapes AS s ON v.shape_id = s.shape_id
WHERE s.tuple_arity IS NOT NULL AND v.memory_space NOT IN (0, 7)
