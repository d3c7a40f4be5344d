-- The values of the default memory space that are alive at the occupied peak of a dump, the largest owners first.
-- grain: value_id
-- parameters: dump_id, memory_space
SELECT
    value_id,  -- The value.
    allocation_index,  -- Allocation that holds it.
    kind,  -- parameter, output, constant or temp.
    instruction_name AS instruction,  -- Instruction that defines it.
    shape_index,  -- Which part of its result; null = not printed.
    instruction_name || COALESCE(NULLIF(shape_index, '{}'), '') AS value_name,  -- Instruction and part of its result.
    shape_text AS shape,  -- Shape as printed.
    owned_bytes AS bytes,  -- Bytes of the peak that it owns.
    size_bytes,  -- Its slot.
    layout_padding_bytes AS padding_bytes,  -- Of the slot: what tiles add.
    op_name,  -- Name of the framework operation.
    source_file || COALESCE(':' || source_line, '') AS source,  -- Where it was written.
    start_position,  -- First position alive.
    end_position,  -- Last position alive, included.
    end_position - start_position + 1 AS positions  -- How long it is alive.
FROM marts.peak_buffers_v1
WHERE dump_id = $dump_id AND memory_space = $memory_space
ORDER BY owned_bytes DESC, value_id
