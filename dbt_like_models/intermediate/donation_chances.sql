-- What outputs there are for each parameter that holds none.
-- grain: dump_id, parameter_allocation_index
SELECT
    p.dump_id,  -- The dump.
    p.parameter_allocation_index,  -- Allocation of the parameter.
    MAX(p.parameter_name) AS parameter_name,  -- Instruction of the parameter.
    MAX(p.parameter_shape) AS parameter_shape,  -- Its shape.
    BOOL_OR(
        NOT o.is_on_parameter
        AND o.array_shape = p.array_shape
        AND o.size_bytes = p.size_bytes
        AND o.memory_space = p.memory_space
    ) AS has_equal,  -- Whether one with memory of its own has its shape, its bytes and its memory space.
    BOOL_OR(NOT o.is_on_parameter AND o.array_shape = p.array_shape AND o.memory_space <> p.memory_space)
        AS has_other_space,  -- Whether one has its shape in another memory space.
    BOOL_OR(NOT o.is_on_parameter AND o.array_shape = p.array_shape)
        AS has_other_layout,  -- Whether one has its element type and dimensions.
    BOOL_OR(o.is_on_parameter AND o.array_shape = p.array_shape)
        AS has_taken,  -- Whether one of its shape is placed on another parameter.
    BOOL_OR(NOT o.is_on_parameter AND split_part(o.array_shape, '[', 2) = split_part(p.array_shape, '[', 2))
        AS has_other_type  -- Whether one has its dimensions.
FROM intermediate.donatable_parameters AS p
LEFT JOIN intermediate.placed_outputs AS o ON p.dump_id = o.dump_id
GROUP BY p.dump_id, p.parameter_allocation_index
