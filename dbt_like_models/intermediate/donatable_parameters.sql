-- Parameters that an output could take the place of: allocations that hold one and no output, each with its first value.
-- grain: dump_id, parameter_allocation_index
WITH read_last AS (
    SELECT
        dump_id,
        value_id,
        MAX(schedule_position) AS last_use_position,
        COUNT(*) > COUNT(schedule_position) AS is_read_elsewhere
    FROM staging.uses
    GROUP BY dump_id, value_id
),

parameters AS (
    SELECT
        a.dump_id,
        a.allocation_index,
        MAX(a.memory_space) AS memory_space,
        MAX(a.size_bytes) AS size_bytes,
        MAX(a.parameter_number) AS parameter_number,
        MAX(a.parameter_shape_index) AS parameter_shape_index,
        MIN_BY(v.instruction_name, v.value_id) AS instruction_name,
        MIN_BY(v.shape_text, v.value_id) AS shape_text,
        MAX(u.last_use_position) AS last_use_position,
        BOOL_AND(COALESCE(v.uses_state IN ('listed', 'empty'), FALSE))
        AND NOT BOOL_OR(COALESCE(u.is_read_elsewhere, FALSE)) AS are_uses_known
    FROM staging.allocations AS a
    INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
    LEFT JOIN read_last AS u ON v.dump_id = u.dump_id AND v.value_id = u.value_id
    WHERE a.kind = 'parameter' AND NOT a.is_maybe_live_out AND a.size_bytes > 0
    GROUP BY a.dump_id, a.allocation_index
    HAVING NOT BOOL_OR(v.is_tuple)
)

SELECT
    dump_id,  -- The dump.
    allocation_index AS parameter_allocation_index,  -- Allocation of the parameter.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_bytes,  -- Bytes of the allocation.
    parameter_number,  -- Entry parameter it holds.
    parameter_shape_index,  -- Which leaf of the parameter.
    instruction_name AS parameter_name,  -- Instruction of the parameter.
    shape_text AS parameter_shape,  -- Its shape.
    split_part(shape_text, '{', 1) AS array_shape,  -- Element type and dimensions, without layout.
    are_uses_known,  -- All uses of its values are listed, and stand in the schedule.
    CASE WHEN are_uses_known THEN last_use_position END
        AS last_use_position  -- Last position at which it is used; null if it never is, or if that is not known.
FROM parameters
