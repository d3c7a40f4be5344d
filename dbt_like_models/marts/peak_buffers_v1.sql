-- The values alive at the occupied peak of a memory space, the largest owners first when sorted by owned_bytes.
-- Each byte has one owner: the value that starts last, then the lowest id. Owned bytes sum to the occupied peak.
-- grain: dump_id, value_id
-- portable: yes
SELECT
    o.dump_id,  -- The dump.
    o.value_id,  -- A value alive at the occupied peak of its memory space.
    o.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    o.allocation_index,  -- Allocation that holds it.
    o.kind,  -- parameter, output, constant or temp.
    v.instruction_name,  -- Instruction that defines it.
    v.shape_index,  -- Which part of the instruction's result; null = not printed.
    t.opcode,  -- Operation of the instruction.
    t.op_name,  -- Name of the framework operation.
    t.source_file,  -- Source file of the user's program.
    t.source_line,  -- Line in it.
    v.shape_text,  -- Shape as printed.
    v.start_position,  -- First position alive.
    v.end_position,  -- Last position alive, included.
    o.position_in_schedule AS occupied_peak_position,  -- First position of the occupied peak.
    o.size_bytes,  -- Its slot, in bytes.
    o.owned_bytes,  -- Bytes of the slot that count for this value: the four parts below.
    o.element_bytes,  -- Of the owned: elements (logical bytes).
    o.layout_padding_bytes,  -- Of the owned: what tiles add.
    o.slack_bytes,  -- Of the owned: alias sets, alignment.
    o.tuple_table_bytes,  -- Of the owned: the pointer table of a tuple.
    CAST(o.owned_bytes AS DOUBLE) / NULLIF(p.occupied_peak_bytes, 0) AS peak_share  -- Share of the peak, 0 to 1.
FROM intermediate.peak_owners AS o
INNER JOIN intermediate.peaks AS p ON o.dump_id = p.dump_id AND o.memory_space = p.memory_space
INNER JOIN staging.hlo_values AS v ON o.dump_id = v.dump_id AND o.value_id = v.value_id
LEFT JOIN staging.instruction_texts AS t
    ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
