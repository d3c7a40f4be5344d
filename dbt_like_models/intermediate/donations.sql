-- Each parameter beside the output of its shape that could be placed on it: first those that the schedule permits.
-- grain: dump_id, parameter_allocation_index
WITH other_parameters AS (
    SELECT
        p.dump_id,
        p.memory_space,
        p.size_bytes,
        p.array_shape,
        p.parameter_allocation_index,
        ROW_NUMBER() OVER (
            PARTITION BY p.dump_id, p.memory_space, p.size_bytes, p.array_shape
            ORDER BY p.parameter_number, p.parameter_allocation_index
        ) AS place
    FROM intermediate.donatable_parameters AS p
    LEFT JOIN intermediate.donations_in_schedule AS t
        ON p.dump_id = t.dump_id AND p.parameter_allocation_index = t.parameter_allocation_index
    WHERE t.dump_id IS NULL
),

other_outputs AS (
    SELECT
        o.dump_id,
        o.memory_space,
        o.size_bytes,
        o.array_shape,
        o.output_allocation_index,
        ROW_NUMBER() OVER (
            PARTITION BY o.dump_id, o.memory_space, o.size_bytes, o.array_shape ORDER BY o.output_allocation_index
        ) AS place
    FROM intermediate.donatable_outputs AS o
    LEFT JOIN intermediate.donations_in_schedule AS t
        ON o.dump_id = t.dump_id AND o.output_allocation_index = t.output_allocation_index
    WHERE t.dump_id IS NULL
)

SELECT
    dump_id,  -- The dump.
    parameter_allocation_index,  -- Allocation of the parameter.
    output_allocation_index,  -- Allocation of the output.
    TRUE AS is_in_this_schedule  -- Whether the parameter is free when the output is born, in the schedule of this dump.
FROM intermediate.donations_in_schedule
UNION ALL
SELECT p.dump_id, p.parameter_allocation_index, o.output_allocation_index, FALSE AS is_in_this_schedule
FROM other_parameters AS p
INNER JOIN other_outputs AS o
    ON
        p.dump_id = o.dump_id AND p.memory_space = o.memory_space AND p.size_bytes = o.size_bytes
        AND p.array_shape = o.array_shape AND p.place = o.place
