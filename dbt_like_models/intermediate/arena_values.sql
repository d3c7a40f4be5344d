-- Whether the temporary arena of memory space 0 holds a value that is really stored there. Not a tuple table, nor a
-- single element that a TPU computes in its scalar unit and keeps in a register: what libtpu says of its temporaries
-- hangs on that, and a dump does not show it. The opcodes are a heuristic: of single elements those of add, clamp,
-- compare, convert, copy, parameter and while were seen to be kept so, those of fusion and reduce not.
-- grain: dump_id
-- materialized: incremental by dump_id
WITH arenas AS (
    SELECT
        v.dump_id,
        s.is_single_element,
        s.dimension_count = 0 AS is_scalar,
        t.opcode IN (
            'add', 'and', 'bitcast', 'bitcast-convert', 'clamp', 'compare', 'conditional', 'constant', 'convert',
            'copy', 'divide', 'get-tuple-element', 'maximum', 'minimum', 'multiply', 'negate', 'not', 'or',
            'parameter', 'remainder', 'select', 'shift-left', 'shift-right-arithmetic', 'shift-right-logical',
            'subtract', 'while', 'xor'
        ) AS is_scalar_work
    FROM staging.value_slots AS v
    INNER JOIN staging.allocations AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
    INNER JOIN staging.shapes AS s ON v.shape_id = s.shape_id
    LEFT JOIN staging.instruction_results AS t
        ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
    WHERE a.kind = 'temp' AND a.memory_space = 0 AND NOT v.is_tuple
)

SELECT
    dump_id,  -- The dump; one without a row has no such value.
    CASE
        WHEN BOOL_OR(NOT (is_single_element AND is_scalar_work)) THEN TRUE
        WHEN COUNT(*) = COUNT(is_scalar_work) THEN FALSE
    END AS has_stored_element,  -- Whether one is stored, a single element taken for a scalar; null if unknown.
    CASE
        WHEN BOOL_OR(NOT (is_scalar AND is_scalar_work)) THEN TRUE
        WHEN COUNT(*) = COUNT(is_scalar_work) THEN FALSE
    END AS has_stored_array,  -- Whether one is stored, no array taken for a scalar; null if unknown.
    COALESCE(BOOL_OR(is_single_element AND is_scalar_work), FALSE)
        AS has_scalar_work,  -- Whether one is a single element that may be kept in a register.
    BOOL_AND(is_single_element) AS is_by_opcode  -- Whether all are single elements, so that their opcodes decide.
FROM arenas
GROUP BY dump_id
