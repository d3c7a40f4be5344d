-- Every value points at an allocation of its dump.
-- severity: error
SELECT
    v.dump_id,  -- The offending dump.
    'an allocation ' || CAST(v.allocation_index AS VARCHAR) AS expected,  -- The allocation that is missing.
    'value ' || CAST(v.value_id AS VARCHAR) AS found  -- The value that points at it.
FROM raw.hlo_values AS v
LEFT JOIN raw.allocations AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
WHERE a.dump_id IS NULL
