-- Values in numbers alone: their slots taken apart, and their live ranges. Names and shapes are in staging.hlo_values.
-- grain: dump_id, value_id
SELECT
    v.dump_id,  -- The dump.
    v.value_id,  -- Id of the value.
    v.instruction_id,  -- Instruction that defines it.
    v.shape_index,  -- Which part of the instruction's result; null = not printed.
    v.is_phi,  -- Merges values of a loop or a conditional.
    v.memory_space,  -- Memory space of the value, which may differ from its allocation's.
    v.shape_id,  -- Its shape.
    s.tuple_arity IS NOT NULL AS is_tuple,  -- Whether it is a tuple's pointer table.
    v.allocation_index,  -- Allocation that holds it.
    v.offset_bytes,  -- Where its slot begins.
    v.size_bytes,  -- Its slot, in bytes.
    v.logical_bytes,  -- Bytes without padding; 8 per element of a tuple.
    v.physical_bytes,  -- Bytes laid out in tiles.
    -- The slot in parts: element_bytes + layout_padding_bytes + slack_bytes + tuple_table_bytes = size_bytes.
    CASE WHEN s.tuple_arity IS NULL THEN COALESCE(v.logical_bytes, 0) ELSE 0 END AS element_bytes,  -- Bytes of elements; 0 for a tuple.
    CASE
        WHEN s.tuple_arity IS NULL THEN COALESCE(v.physical_bytes - v.logical_bytes, 0) ELSE 0
    END AS layout_padding_bytes,  -- Bytes that tiles add.
    CASE
        WHEN s.tuple_arity IS NULL THEN v.size_bytes - COALESCE(v.physical_bytes, v.logical_bytes, 0)
        ELSE v.size_bytes - LEAST(COALESCE(v.logical_bytes, 0), v.size_bytes)
    END AS slack_bytes,  -- What the slot has beyond that: alias sets, alignment. May be negative.
    CASE
        WHEN s.tuple_arity IS NULL THEN 0 ELSE LEAST(COALESCE(v.logical_bytes, 0), v.size_bytes)
    END AS tuple_table_bytes,  -- Pointer table of a tuple, never more than its slot.
    r.start_position,  -- First position alive; null without a live range.
    r.end_position,  -- Last position alive, included.
    v.uses_state,  -- listed, empty, uninitialized, or null without the section.
    v.instruction_text_id  -- Text of its instruction.
FROM raw.hlo_values AS v
INNER JOIN raw.shapes AS s ON v.shape_id = s.shape_id
LEFT JOIN raw.live_ranges AS r
    ON
        v.dump_id = r.dump_id
        AND v.instruction_id = r.instruction_id
        AND COALESCE(v.shape_index, '{}') = r.shape_index
