-- The allocation map: which bytes of which allocation each value takes, from when to when. Values with a live range
-- only, and none of thread-local allocations. Where values overlap, a byte belongs to the one that starts last, then to
-- the lowest id; so at every position the union of the slots is what the memory timeline calls occupied.
-- grain: dump_id, value_id
-- portable: yes
SELECT
    s.dump_id,  -- The dump.
    s.value_id,  -- The value.
    s.memory_space,  -- Memory space of the allocation; 0 is the default (HBM on TPU).
    s.allocation_index,  -- Allocation that holds it.
    s.kind,  -- parameter, output, constant or temp.
    s.offset_bytes,  -- Where its slot begins in the allocation.
    s.size_bytes,  -- Its slot, in bytes: the sum of the four parts below.
    s.start_position,  -- First position alive.
    s.end_position,  -- Last position alive, included.
    v.instruction_name,  -- Instruction that defines it.
    v.shape_index,  -- Which part of the instruction's result; null = not printed.
    v.shape_text,  -- Shape as printed.
    v.element_type,  -- Element type; null for a tuple.
    t.opcode,  -- Operation of the instruction.
    t.op_name,  -- Name of the framework operation.
    t.source_file,  -- Source file of the user's program.
    t.source_line,  -- Line in it.
    v.element_bytes,  -- Of the slot: elements (logical bytes).
    v.layout_padding_bytes,  -- Of the slot: what tiles add.
    v.slack_bytes,  -- Of the slot: alias sets, alignment. May be negative.
    v.tuple_table_bytes  -- Of the slot: the pointer table of a tuple.
FROM intermediate.slots AS s
INNER JOIN staging.hlo_values AS v ON s.dump_id = v.dump_id AND s.value_id = v.value_id
LEFT JOIN staging.instruction_texts AS t ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
