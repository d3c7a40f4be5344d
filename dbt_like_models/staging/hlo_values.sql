-- Values with their names, shapes and live ranges, and their slots taken apart.
-- grain: dump_id, value_id
SELECT
    v.dump_id,  -- The dump.
    v.value_id,  -- Id of the value.
    v.instruction_id,  -- Instruction that defines it.
    i.instruction_name,  -- Its name.
    v.shape_index,  -- Which part of the instruction's result; null = not printed.
    v.is_phi,  -- Merges values of a loop or a conditional.
    v.memory_space,  -- Memory space of the value, which may differ from its allocation's.
    s.shape_text,  -- Shape as printed.
    s.element_type,  -- Element type; null for a tuple.
    s.layout,  -- Minor-to-major order.
    s.tiles,  -- Tiles of the layout.
    v.is_tuple,  -- Whether it is a tuple's pointer table.
    v.allocation_index,  -- Allocation that holds it.
    v.offset_bytes,  -- Where its slot begins.
    v.size_bytes,  -- Its slot, in bytes.
    v.logical_bytes,  -- Bytes without padding; 8 per element of a tuple.
    v.physical_bytes,  -- Bytes laid out in tiles.
    -- The slot in parts: element_bytes + layout_padding_bytes + slack_bytes + tuple_table_bytes = size_bytes.
    v.element_bytes,  -- Bytes of elements; 0 for a tuple.
    v.layout_padding_bytes,  -- Bytes that tiles add.
    v.slack_bytes,  -- What the slot has beyond that: alias sets, alignment. May be negative.
    v.tuple_table_bytes,  -- Pointer table of a tuple, never more than its slot.
    v.start_position,  -- First position alive; null without a live range.
    v.end_position,  -- Last position alive, included.
    v.uses_state,  -- listed, empty, uninitialized, or null without the section.
    v.instruction_text_id  -- Text of its instruction.
FROM staging.value_slots AS v
INNER JOIN raw.shapes AS s ON v.shape_id = s.shape_id
INNER JOIN raw.instructions AS i ON v.dump_id = i.dump_id AND v.instruction_id = i.instruction_id
