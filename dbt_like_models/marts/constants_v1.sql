-- Constants baked into programs, with what defines them: bytes that every copy of the program carries.
-- grain: dump_id, value_id
-- portable: yes
SELECT
    a.dump_id,  -- The dump.
    v.value_id,  -- The value of the constant.
    a.allocation_index,  -- Allocation that holds it.
    a.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    a.is_thread_local,  -- Whether it is there once per thread.
    a.is_maybe_live_out,  -- Whether it may be an output, too.
    v.instruction_name,  -- Instruction that defines it.
    v.shape_index,  -- Which part of the instruction's result; null = not printed.
    v.shape_text,  -- Shape as printed.
    v.element_type,  -- Element type; null for a tuple.
    t.op_name,  -- Name of the framework operation.
    v.logical_bytes,  -- Bytes without padding; 8 per element of a tuple.
    v.size_bytes,  -- Its slot, in bytes.
    a.size_bytes AS allocation_bytes  -- Bytes reserved for the allocation.
FROM staging.allocations AS a
INNER JOIN staging.hlo_values AS v ON a.dump_id = v.dump_id AND a.allocation_index = v.allocation_index
LEFT JOIN staging.instruction_texts AS t
    ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
WHERE a.is_constant
