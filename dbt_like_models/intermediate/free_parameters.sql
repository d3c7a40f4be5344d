-- Entry parameters on which no output is placed, and when each is read for the last time. Not those that hold a tuple
-- table, nor those whose uses are unknown or stand outside the schedule.
-- grain: dump_id, allocation_index
WITH read_last AS (
    SELECT
        dump_id,
        value_id,
        MAX(schedule_position) AS last_use_position,
        COUNT(*) > COUNT(schedule_position) AS is_read_elsewhere
    FROM staging.uses
    GROUP BY dump_id, value_id
)

SELECT
    a.dump_id,  -- The dump.
    a.allocation_index,  -- Allocation of the parameter.
    MAX(a.memory_space) AS memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    MAX(a.size_bytes) AS size_bytes,  -- Bytes reserved.
    MAX(a.parameter_number) AS parameter_number,  -- Entry parameter it holds.
    MAX(a.parameter_shape_index) AS parameter_shape_index,  -- Which leaf of the parameter.
    MIN_BY(v.instruction_name, v.value_id) AS instruction_name,  -- Instruction of its first value: the parameter.
    MIN_BY(v.shape_text, v.value_id) AS shape_text,  -- Shape of that value.
    MAX(u.last_use_position) AS last_use_position  -- Last position at which a value in it is used; null if none is.
FROM staging.allocations AS a
INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
LEFT JOIN read_last AS u ON v.dump_id = u.dump_id AND v.value_id = u.value_id
WHERE a.kind = 'parameter' AND NOT a.is_maybe_live_out AND a.size_bytes > 0
GROUP BY a.dump_id, a.allocation_index
HAVING
    BOOL_AND(COALESCE(v.uses_state IN ('listed', 'empty'), FALSE) AND NOT v.is_tuple)
    AND NOT BOOL_OR(COALESCE(u.is_read_elsewhere, FALSE))
