-- Arguments that were donated, leaf by leaf: what the module text beside a dump offers, what the dump shows as taken, and
-- why a donation was lost. What JAX finds no output for it does not offer: its warning says so, the module text does not.
-- grain: run_id, relative_path, parameter_allocation_index
-- portable: yes
SELECT
    s.run_id,  -- The run the file belongs to.
    s.relative_path,  -- Path below the run's root.
    s.dump_id,  -- The content that was seen.
    s.program_id,  -- The program: its name and entry signature.
    a.allocation_index AS parameter_allocation_index,  -- Allocation of the parameter.
    a.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    a.size_bytes,  -- Bytes of the allocation.
    a.parameter_number,  -- Entry parameter it holds.
    a.parameter_shape_index,  -- Which leaf of the parameter.
    c.parameter_name,  -- Instruction of the parameter; null where an output is on it.
    COALESCE(c.parameter_shape, a.parameter_shape) AS parameter_shape,  -- Its shape.
    d.kind IS NOT NULL AS is_requested,  -- Whether the module text offers it.
    a.is_maybe_live_out AS is_taken,  -- Whether an output is placed on it.
    a.is_maybe_live_out OR COALESCE(c.has_equal, FALSE)
        AS is_possible,  -- Whether an output is placed on it, or one of its shape and size has memory of its own.
    d.output_shape_index,  -- Leaf of the output that the module text places on it; null for none.
    d.kind,  -- may-alias, must-alias or buffer-donor; null where it is not offered.
    CASE
        WHEN d.kind IS NULL OR a.is_maybe_live_out THEN NULL
        WHEN t.dump_id IS NOT NULL THEN 'not placed, though it could be'
        WHEN c.has_equal THEN 'it is used after the output is born'
        WHEN c.has_other_space THEN 'the output lies in another memory space'
        WHEN c.has_other_layout THEN 'the layout differs'
        WHEN c.has_taken THEN 'outputs of its shape are on other parameters'
        WHEN c.has_other_type THEN 'the element type differs'
        ELSE 'no output has its shape'
    END AS reason  -- Why a donation that was requested was lost; null where it was not.
FROM staging.observations AS s
INNER JOIN staging.allocations AS a ON s.dump_id = a.dump_id
LEFT JOIN intermediate.donation_chances AS c ON a.dump_id = c.dump_id AND a.allocation_index = c.parameter_allocation_index
LEFT JOIN intermediate.donations_in_schedule AS t
    ON a.dump_id = t.dump_id AND a.allocation_index = t.parameter_allocation_index
LEFT JOIN staging.donations AS d
    ON
        s.donations_id = d.donations_id
        AND a.parameter_number = d.parameter_number
        AND a.parameter_shape_index = d.parameter_shape_index
WHERE s.donations_id IS NOT NULL AND a.kind = 'parameter' AND a.size_bytes > 0
