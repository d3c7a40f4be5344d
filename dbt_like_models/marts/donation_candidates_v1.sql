-- Parameters whose bytes an output could take: the last use precedes or meets the output's birth, both allocations are
-- of one size in one memory space, and neither holds both kinds yet. Donating the argument (donate_argnums in JAX)
-- makes a call need size_bytes less.
-- A lower bound: the schedule of the dump was made without donation, and the compiler makes another one with it.
-- A parameter stands beside one output and an output beside one parameter, so sizes may be added up. Of all ways to
-- pair them this is one with the most pairs: by birth, each output takes the parameter that has been free for longest.
-- grain: dump_id, parameter_allocation_index
-- portable: yes
WITH moments AS (
    SELECT dump_id, memory_space, size_bytes, allocation_index, 0 AS turn, COALESCE(last_use_position, -1) AS moment
    FROM intermediate.free_parameters
    UNION ALL
    SELECT dump_id, memory_space, size_bytes, allocation_index, 1 AS turn, birth_position
    FROM intermediate.separate_outputs
),

lined_up AS (
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY dump_id, memory_space, size_bytes, turn ORDER BY moment, allocation_index)
            AS place,
        SUM(CASE WHEN turn = 0 THEN 1 ELSE -1 END) OVER (
            PARTITION BY dump_id, memory_space, size_bytes ORDER BY moment, turn, allocation_index
        ) AS free_count
    FROM moments
),

served AS (  -- An output that takes free_count to a new low below 0 finds no parameter; the lowest counts those.
    SELECT *, LEAST(COALESCE(MIN(free_count) OVER before, 0), 0) AS lowest_count
    FROM lined_up
    WINDOW before AS (
        PARTITION BY dump_id, memory_space, size_bytes ORDER BY moment, turn, allocation_index
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
)

SELECT
    p.dump_id,  -- The dump.
    p.memory_space,  -- Memory space of both; 0 is the default (HBM on TPU).
    p.size_bytes,  -- Bytes of each: what donating the argument saves.
    p.allocation_index AS parameter_allocation_index,  -- Allocation of the parameter.
    p.parameter_number,  -- Entry parameter it holds.
    p.parameter_shape_index,  -- Which leaf of the parameter.
    p.instruction_name AS parameter_name,  -- Instruction of the parameter.
    p.shape_text AS parameter_shape,  -- Its shape.
    p.last_use_position,  -- Last position at which it is used; null if it never is.
    o.allocation_index AS output_allocation_index,  -- Allocation of the output.
    o.instruction_name AS output_name,  -- Instruction that defines it.
    o.shape_text AS output_shape,  -- Its shape.
    o.birth_position,  -- First position at which it is alive.
    COALESCE(p.last_use_position = o.birth_position, FALSE)
        AS is_meeting,  -- Whether one instruction reads the one and writes the other: it must work in place.
    split_part(p.shape_text, '{', 1) = split_part(o.shape_text, '{', 1)
        AS has_same_shape  -- Whether element types and dimensions agree, as JAX demands.
FROM served AS t
INNER JOIN lined_up AS f USING (dump_id, memory_space, size_bytes)
INNER JOIN intermediate.free_parameters AS p ON f.dump_id = p.dump_id AND f.allocation_index = p.allocation_index
INNER JOIN intermediate.separate_outputs AS o ON t.dump_id = o.dump_id AND t.allocation_index = o.allocation_index
WHERE t.turn = 1 AND t.free_count >= t.lowest_count AND f.turn = 0 AND f.place = t.place + t.lowest_count
