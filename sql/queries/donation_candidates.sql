-- Which arguments could be donated, because an output has their shape and size?
-- topic: Capacity
-- param: program = '%'  pattern of program names
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    c.dump_id,
    c.memory_space,
    c.parameter_number,
    c.parameter_shape_index,
    c.parameter_shape,
    c.last_use_position,
    c.output_name,
    c.output_shape,
    c.birth_position,
    TRUE AS has_same_shape,  -- of all: JAX before 0.8 uses no other
    c.size_bytes,
    CAST(SUM(c.size_bytes) OVER (PARTITION BY c.dump_id, c.memory_space) AS BIGINT) AS program_bytes,
    CASE
        WHEN c.is_in_this_schedule OR (c.last_use_position IS NOT NULL AND c.birth_position IS NOT NULL)
        THEN c.is_in_this_schedule
    END AS is_in_this_schedule  -- free when the output is born; null where the dump does not tell when that is
FROM marts.donation_candidates_v2 AS c
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name
    FROM marts.observations_v1
    WHERE program_name LIKE $program
    GROUP BY dump_id
) AS o ON c.dump_id = o.dump_id
ORDER BY c.size_bytes DESC, o.program_name, c.dump_id, c.parameter_allocation_index
LIMIT $rows
