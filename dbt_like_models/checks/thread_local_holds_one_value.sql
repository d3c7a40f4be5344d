-- A thread-local allocation holds one value and is not used again
-- (BufferAssigner::AssignBuffersForComputations; an asynchronous scatter of a SparseCore has two).
-- severity: warn
SELECT
    a.dump_id,  -- The dump.
    '1 value in allocation ' || CAST(a.allocation_index AS VARCHAR) AS expected,  -- What the allocation should hold.
    CAST(COUNT(v.value_id) AS VARCHAR) || ' values' AS found  -- What it holds.
FROM raw.allocations AS a
LEFT JOIN raw.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
WHERE a.is_thread_local
GROUP BY a.dump_id, a.allocation_index
HAVING COUNT(v.value_id) <> 1
