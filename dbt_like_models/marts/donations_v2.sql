-- Arguments that were donated, leaf by leaf, as in version 1, and those of which JAX says in a log of the run that no output can
-- take their place: XLA never hears of these donations. That no log says so proves nothing.
-- grain: run_id, relative_path, parameter_allocation_index
-- portable: no, because JAX's shapes are read by functions of texts of DuckDB
WITH warned AS (
    SELECT
        run_id,
        dump_id,
        array_shape,
        BOOL_OR(is_certain) AS is_certain,
        MIN('line ' || CAST(line_number AS VARCHAR) || ' of ' || log_path) AS place,
        COUNT(*) AS argument_count,
        MAX(parameter_count) AS parameter_count
    FROM marts.donation_warnings_v1
    WHERE dump_id IS NOT NULL
    GROUP BY run_id, dump_id, array_shape
)

SELECT
    v.run_id,  -- The run the file belongs to.
    v.relative_path,  -- Path below the run's root.
    v.dump_id,  -- The content that was seen.
    v.program_id,  -- The program: its name and entry signature.
    v.parameter_allocation_index,  -- Allocation of the parameter.
    v.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    v.size_bytes,  -- Bytes of the allocation.
    v.parameter_number,  -- Entry parameter it holds.
    v.parameter_shape_index,  -- Which leaf of the parameter.
    v.parameter_name,  -- Instruction of the parameter; null where an output is on it.
    v.parameter_shape,  -- Its shape.
    v.is_requested,  -- Whether the module text offers it.
    v.is_taken,  -- Whether an output is placed on it.
    v.is_possible,  -- Whether an output is placed on it, or one of its shape and size has memory of its own.
    CASE WHEN w.is_certain THEN TRUE END
        AS is_unusable,  -- JAX says that its donation is not usable; null where nobody says so, or it may be another one.
    v.output_shape_index,  -- Leaf of the output that the module text places on it; null for none.
    v.kind,  -- may-alias, must-alias or buffer-donor; null where it is not offered.
    CASE
        WHEN w.is_certain THEN 'JAX found no output for it'
        ELSE v.reason
    END AS reason,  -- Why a donation that was requested was lost; null where it was not.
    CASE
        WHEN w.dump_id IS NOT NULL
            THEN 'JAX could not use ' || CAST(w.argument_count AS VARCHAR) || ' of '
            || CAST(w.parameter_count AS VARCHAR) || ' of this shape: ' || w.place
    END AS warning_text  -- What JAX says of parameters of its shape, and where; null where it says nothing.
FROM marts.donations_v1 AS v
LEFT JOIN intermediate.donatable_parameters AS p
    ON v.dump_id = p.dump_id AND v.parameter_allocation_index = p.parameter_allocation_index AND NOT v.is_requested
LEFT JOIN warned AS w ON v.run_id = w.run_id AND v.dump_id = w.dump_id AND p.array_shape = w.array_shape
