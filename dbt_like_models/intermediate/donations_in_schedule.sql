-- As many pairs of a parameter and an output of its shape as the schedule permits: the parameter is no longer read when
-- the output is defined.
-- grain: dump_id, parameter_allocation_index
WITH moments AS (
    SELECT
        dump_id,
        memory_space,
        size_bytes,
        array_shape,
        parameter_allocation_index AS allocation_index,
        0 AS turn,
        COALESCE(last_use_position, -1) AS moment
    FROM intermediate.donatable_parameters
    WHERE are_uses_known
    UNION ALL
    SELECT dump_id, memory_space, size_bytes, array_shape, output_allocation_index, 1 AS turn, birth_position
    FROM intermediate.donatable_outputs
    WHERE birth_position IS NOT NULL
),

lined_up AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, memory_space, size_bytes, array_shape, turn ORDER BY moment, allocation_index
        ) AS place,
        SUM(CASE WHEN turn = 0 THEN 1 ELSE -1 END) OVER (
            PARTITION BY dump_id, memory_space, size_bytes, array_shape ORDER BY moment, turn, allocation_index
        ) AS free_count
    FROM moments
),

served AS (  -- An output that takes free_count to a new low below 0 finds no parameter; the lowest counts those.
    SELECT *, LEAST(COALESCE(MIN(free_count) OVER before, 0), 0) AS lowest_count
    FROM lined_up
    WINDOW before AS (
        PARTITION BY dump_id, memory_space, size_bytes, array_shape ORDER BY moment, turn, allocation_index
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)

SELECT
    t.dump_id,  -- The dump.
    f.allocation_index AS parameter_allocation_index,  -- Allocation of the parameter.
    t.allocation_index AS output_allocation_index  -- Allocation of the output.
FROM served AS t
INNER JOIN lined_up AS f
    ON
        t.dump_id = f.dump_id AND t.memory_space = f.memory_space AND t.size_bytes = f.size_bytes
        AND t.array_shape = f.array_shape
WHERE t.turn = 1 AND t.free_count >= t.lowest_count AND f.turn = 0 AND f.place = t.place + t.lowest_count
