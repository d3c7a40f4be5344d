-- Parameters on which an output of the same shape could be placed: what donating the arguments (donate_argnums in JAX) can
-- save. Both allocations are of one size in one memory space, and neither holds both kinds yet.
-- The rows with is_in_this_schedule are a lower bound: in them the parameter is not read any more when the output is
-- born. The schedule of this dump was made without donation; with it the compiler moves the last read before the birth, or
-- copies, and the other rows can be placed, too. Only the program compiled with donation shows how many are.
-- A parameter stands beside one output and an output beside one parameter, so sizes may be added up.
-- grain: dump_id, parameter_allocation_index
-- portable: yes
WITH parameters AS (
    SELECT
        a.dump_id,
        a.allocation_index,
        MAX(a.memory_space) AS memory_space,
        MAX(a.size_bytes) AS size_bytes,
        MAX(a.parameter_number) AS parameter_number,
        MAX(a.parameter_shape_index) AS parameter_shape_index,
        MIN_BY(v.instruction_name, v.value_id) AS instruction_name,
        MIN_BY(v.shape_text, v.value_id) AS shape_text,
        split_part(MIN_BY(v.shape_text, v.value_id), '{', 1) AS array_shape
    FROM staging.allocations AS a
    INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
    WHERE a.kind = 'parameter' AND NOT a.is_maybe_live_out AND a.size_bytes > 0
    GROUP BY a.dump_id, a.allocation_index
    HAVING NOT BOOL_OR(v.is_tuple)
),

output_values AS (
    SELECT
        a.dump_id,
        a.allocation_index,
        a.memory_space,
        a.size_bytes,
        v.instruction_name,
        v.shape_text,
        split_part(v.shape_text, '{', 1) AS array_shape,
        ROW_NUMBER() OVER (
            PARTITION BY a.dump_id, a.allocation_index
            ORDER BY v.end_position DESC NULLS LAST, v.is_phi ASC, v.value_id DESC
        ) AS place
    FROM staging.allocations AS a
    INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
    WHERE a.kind = 'output' AND a.size_bytes > 0 AND NOT v.is_tuple
),

outputs AS (
    SELECT * FROM output_values WHERE place = 1
),

moments AS (
    SELECT
        p.dump_id,
        p.memory_space,
        p.size_bytes,
        p.array_shape,
        p.allocation_index,
        0 AS turn,
        COALESCE(f.last_use_position, -1) AS moment
    FROM parameters AS p
    INNER JOIN intermediate.free_parameters AS f ON p.dump_id = f.dump_id AND p.allocation_index = f.allocation_index
    UNION ALL
    SELECT o.dump_id, o.memory_space, o.size_bytes, o.array_shape, o.allocation_index, 1 AS turn, s.birth_position
    FROM outputs AS o
    INNER JOIN intermediate.separate_outputs AS s ON o.dump_id = s.dump_id AND o.allocation_index = s.allocation_index
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
),

timed AS (  -- As many pairs as the schedule permits.
    SELECT
        t.dump_id,
        f.allocation_index AS parameter_allocation_index,
        t.allocation_index AS output_allocation_index
    FROM served AS t
    INNER JOIN lined_up AS f
        ON
            t.dump_id = f.dump_id
            AND t.memory_space = f.memory_space
            AND t.size_bytes = f.size_bytes
            AND t.array_shape = f.array_shape
    WHERE t.turn = 1 AND t.free_count >= t.lowest_count AND f.turn = 0 AND f.place = t.place + t.lowest_count
),

other_parameters AS (
    SELECT
        p.*,
        ROW_NUMBER() OVER (
            PARTITION BY p.dump_id, p.memory_space, p.size_bytes, p.array_shape
            ORDER BY p.parameter_number, p.allocation_index
        ) AS place
    FROM parameters AS p
    LEFT JOIN timed AS t ON p.dump_id = t.dump_id AND p.allocation_index = t.parameter_allocation_index
    WHERE t.dump_id IS NULL
),

other_outputs AS (
    SELECT
        o.dump_id,
        o.memory_space,
        o.size_bytes,
        o.array_shape,
        o.allocation_index,
        ROW_NUMBER() OVER (
            PARTITION BY o.dump_id, o.memory_space, o.size_bytes, o.array_shape ORDER BY o.allocation_index
        ) AS place
    FROM outputs AS o
    LEFT JOIN timed AS t ON o.dump_id = t.dump_id AND o.allocation_index = t.output_allocation_index
    WHERE t.dump_id IS NULL
),

pairs AS (
    SELECT dump_id, parameter_allocation_index, output_allocation_index, TRUE AS is_in_this_schedule
    FROM timed
    UNION ALL
    SELECT p.dump_id, p.allocation_index, o.allocation_index, FALSE AS is_in_this_schedule
    FROM other_parameters AS p
    INNER JOIN other_outputs AS o
        ON
            p.dump_id = o.dump_id
            AND p.memory_space = o.memory_space
            AND p.size_bytes = o.size_bytes
            AND p.array_shape = o.array_shape
            AND p.place = o.place
)

SELECT
    t.dump_id,  -- The dump.
    p.memory_space,  -- Memory space of both; 0 is the default (HBM on TPU).
    p.size_bytes,  -- Bytes of each: what donating the argument saves.
    t.parameter_allocation_index,  -- Allocation of the parameter.
    p.parameter_number,  -- Entry parameter it holds.
    p.parameter_shape_index,  -- Which leaf of the parameter.
    p.instruction_name AS parameter_name,  -- Instruction of the parameter.
    p.shape_text AS parameter_shape,  -- Its shape.
    f.last_use_position,  -- Last position at which it is used; null if it never is, or if that is not known.
    t.output_allocation_index,  -- Allocation of the output.
    o.instruction_name AS output_name,  -- Instruction that defines the value of it that lives longest.
    o.shape_text AS output_shape,  -- Its shape: element type and dimensions are those of the parameter.
    s.birth_position,  -- First position at which it is alive; null if that is not known.
    COALESCE(f.last_use_position = s.birth_position, FALSE)
        AS is_meeting,  -- Whether one instruction reads the one and writes the other: it must work in place.
    t.is_in_this_schedule  -- Whether the parameter is free when the output is born, in the schedule of this dump.
FROM pairs AS t
INNER JOIN parameters AS p ON t.dump_id = p.dump_id AND t.parameter_allocation_index = p.allocation_index
INNER JOIN outputs AS o ON t.dump_id = o.dump_id AND t.output_allocation_index = o.allocation_index
LEFT JOIN intermediate.free_parameters AS f
    ON t.dump_id = f.dump_id AND t.parameter_allocation_index = f.allocation_index
LEFT JOIN intermediate.separate_outputs AS s
    ON t.dump_id = s.dump_id AND t.output_allocation_index = s.allocation_index
