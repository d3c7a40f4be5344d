-- The values of some dumps that have a live range, with their slots in parts and what is known of their instructions.
-- grain: dump_id, value_id
-- parameters: dump_ids (the dumps)
SELECT
    m.dump_id,  -- The dump.
    m.value_id,  -- The value.
    m.memory_space,  -- Memory space of the allocation; 0 is the default (HBM on TPU).
    m.kind,  -- parameter, output, constant or temp.
    m.allocation_index,  -- Allocation that holds it.
    m.offset_bytes,  -- Where its slot begins in the allocation.
    m.size_bytes,  -- Its slot: the sum of the next three.
    m.start_position,  -- First position alive.
    m.end_position,  -- Last position alive, included.
    m.element_bytes + m.tuple_table_bytes AS logical_bytes,  -- Of the slot: elements, or the pointer table of a tuple.
    m.layout_padding_bytes,  -- Of the slot: what tiles add.
    m.slack_bytes,  -- Of the slot: alias sets, alignment. May be negative.
    m.instruction_name,  -- Instruction that defines it.
    m.shape_index,  -- Which part of the instruction's result; null = not printed.
    m.shape_text,  -- Shape as printed.
    m.element_type,  -- Element type; null for a tuple.
    m.opcode,  -- Operation of the instruction.
    m.op_name,  -- Name of the framework operation.
    m.source_file,  -- Source file of the user's program.
    m.source_line,  -- Line in it.
    CASE
        WHEN m.opcode = 'parameter' THEN a.parameter_number || ' ' || COALESCE(a.parameter_shape_index, '{}')
    END AS parameter  -- Number and shape index of the entry parameter that it is; null for all else.
FROM marts.allocation_map_v1 AS m
INNER JOIN marts.allocations_v1 AS a ON m.dump_id = a.dump_id AND m.allocation_index = a.allocation_index
WHERE m.dump_id IN ($dump_ids) AND a.dump_id IN ($dump_ids)
ORDER BY m.dump_id, m.value_id
