-- A value has the memory space of its allocation (BufferAllocation::AddAssignment). Two exceptions are legal: cross-color
-- reuse, and values of space 0 in temporary allocations of space 2, the separate one of GPUs
-- (gpu_memory_space_assignment.h).
-- severity: warn
SELECT
    v.dump_id,  -- The dump.
    'memory space ' || CAST(a.memory_space AS VARCHAR) || ', that of allocation '
    || CAST(a.allocation_index AS VARCHAR) AS expected,  -- The memory space of the allocation.
    'value ' || CAST(v.value_id AS VARCHAR) || ' in ' || CAST(v.memory_space AS VARCHAR) AS found  -- The value's own.
FROM raw.hlo_values AS v
INNER JOIN staging.allocation_sizes AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
LEFT JOIN raw.cross_color_values AS c
    ON v.dump_id = c.dump_id AND v.allocation_index = c.allocation_index AND v.value_id = c.value_id
WHERE
    v.memory_space <> a.memory_space
    AND c.dump_id IS NULL
    AND NOT (v.memory_space = 0 AND a.memory_space = 2 AND a.kind = 'temp')
