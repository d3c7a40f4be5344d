-- Outputs that have an allocation of their own, and when its first value is born. Not tuple tables, nor allocations
-- with a value whose live range is unknown.
-- grain: dump_id, allocation_index
WITH ranked AS (
    SELECT
        a.dump_id,
        a.allocation_index,
        a.memory_space,
        a.size_bytes,
        v.instruction_name,
        v.shape_text,
        v.is_tuple,
        v.start_position,
        ROW_NUMBER() OVER (
            PARTITION BY a.dump_id, a.allocation_index
            ORDER BY v.is_tuple ASC, v.end_position DESC, v.is_phi ASC, v.value_id DESC
        ) AS place
    FROM staging.allocations AS a
    INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
    WHERE a.kind = 'output' AND a.size_bytes > 0
)

SELECT
    dump_id,  -- The dump.
    allocation_index,  -- Allocation of the output.
    MAX(memory_space) AS memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    MAX(size_bytes) AS size_bytes,  -- Bytes reserved.
    MAX(CASE WHEN place = 1 THEN instruction_name END) AS instruction_name,  -- Defines the value that lives longest.
    MAX(CASE WHEN place = 1 THEN shape_text END) AS shape_text,  -- Shape of that value.
    MIN(start_position) AS birth_position  -- First position at which a value in it is alive.
FROM ranked
GROUP BY dump_id, allocation_index
HAVING COUNT(*) = COUNT(start_position) AND NOT BOOL_AND(is_tuple)
