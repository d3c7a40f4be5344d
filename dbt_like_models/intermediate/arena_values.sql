-- Whether the temporary arena of memory space 0 holds a value that is really stored there. A tuple table is not, nor is
-- a single element that a TPU computes in its scalar unit and keeps in a register. What libtpu says of its temporaries
-- depends on that, and a dump does not show it. The opcodes are a heuristic: single elements of add, clamp, compare,
-- convert, copy, parameter and while were seen to be in registers, those of fusion and reduce were not. It is less sure
-- whether a value is still in memory after the code was generated. Some were seen to be gone by then: single elements of
-- any opcode, values of instructions that run beside the others (calls on a SparseCore, collectives fused with
-- computations), and values that an asynchronous copy brought from another memory space.
-- grain: dump_id
-- materialized: incremental by dump_id
WITH arenas AS (
    SELECT
        v.dump_id,
        v.is_tuple,
        s.is_single_element,
        s.dimension_count = 0 AS is_scalar,
        t.opcode IN ('call-start', 'call-update', 'call-done') OR STARTS_WITH(i.instruction_name, 'async-collective-')
            -- Its tuple and its sync flag are there even if it copies into another space.
            OR (t.opcode = 'copy-start' AND s.tuple_arity IS NULL) AS is_beside,
        t.opcode IN (
            'add', 'and', 'bitcast', 'bitcast-convert', 'clamp', 'compare', 'conditional', 'constant', 'convert',
            'copy', 'divide', 'get-tuple-element', 'maximum', 'minimum', 'multiply', 'negate', 'not', 'or',
            'parameter', 'remainder', 'select', 'shift-left', 'shift-right-arithmetic', 'shift-right-logical',
            'subtract', 'while', 'xor'
        ) AS is_scalar_work
    FROM staging.value_slots AS v
    INNER JOIN staging.allocation_sizes AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
    INNER JOIN staging.shapes AS s ON v.shape_id = s.shape_id
    LEFT JOIN staging.instruction_results AS t
        ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
    LEFT JOIN staging.instructions AS i ON v.dump_id = i.dump_id AND v.instruction_id = i.instruction_id
    WHERE a.kind = 'temp' AND a.memory_space = 0
)

SELECT
    dump_id,  -- The dump; one without a row has no such value.
    CASE
        WHEN BOOL_OR(NOT is_tuple AND NOT (is_single_element AND is_scalar_work)) THEN TRUE
        WHEN COUNT(*) = COUNT(is_tuple OR is_scalar_work) THEN FALSE
    END AS has_stored_element,  -- Whether one is stored, a single element taken for a scalar; null if unknown.
    CASE
        WHEN BOOL_OR(NOT is_tuple AND NOT (is_scalar AND is_scalar_work)) THEN TRUE
        WHEN COUNT(*) = COUNT(is_tuple OR is_scalar_work) THEN FALSE
    END AS has_stored_array,  -- Whether one is stored, no array taken for a scalar; null if unknown.
    COALESCE(BOOL_OR(is_beside OR (is_single_element AND NOT is_tuple)), FALSE)
        AS may_lack_values,  -- Whether one may not be in memory any more when the code was generated.
    COALESCE(BOOL_AND(is_single_element) FILTER (WHERE NOT is_tuple), FALSE)
        AS is_by_opcode  -- Whether all are single elements, so that their opcodes decide.
FROM arenas
GROUP BY dump_id
