-- Memory that an instruction has for itself while it runs, beside its operands and results, as its backend_config says: it
-- is in no allocation of the dump, and in none of its peaks. What is printed as [], and what is not printed, has no row.
-- grain: dump_id, instruction_name, is_used, ordinal
-- portable: no, because a raw backend_config is taken apart with regular expressions of DuckDB
SELECT
    s.dump_id,  -- The dump.
    t.instruction_name,  -- The instruction, most often a fusion or a custom call.
    t.opcode,  -- Its operation.
    t.custom_call_target,  -- Target of a custom call.
    t.op_name,  -- Name of the framework operation.
    t.source_file,  -- Source file of the user's program.
    t.source_line,  -- Line in it.
    t.schedule_position,  -- Its line in the schedule; null outside it.
    s.is_used,  -- Whether it is what the kernel takes (used_scoped_memory_configs) or what it may take (scoped_memory_configs).
    s.ordinal,  -- Place in the list, from 0.
    s.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    s.offset_bytes,  -- Where it begins.
    s.size_bytes  -- Its bytes.
FROM intermediate.scoped_memory AS s
INNER JOIN staging.instruction_texts AS t ON s.dump_id = t.dump_id AND s.instruction_text_id = t.instruction_text_id
