-- The dumps that a message may be about: those of its run, of the module that it names if it names one.
-- grain: run_id, message_id, dump_id
SELECT DISTINCT
    m.run_id,  -- The run.
    m.message_id,  -- The message.
    m.relative_path,  -- The first log that says it.
    m.message_number,  -- Its number there.
    m.dialect,  -- Its form.
    m.memory_space_name,  -- Memory that does not suffice.
    m.instruction_name,  -- Instruction that it names.
    m.shape_text,  -- Shape that it names.
    m.fault_text,  -- Why its figures are not relied on; null where they are.
    m.is_rounded_up,  -- Its allocation is printed rounded up to 256 bytes.
    o.dump_id  -- A dump that it may be about.
FROM intermediate.oom_messages AS m
INNER JOIN staging.observations AS o
    ON m.run_id = o.run_id
    AND (m.module_name IS NULL OR m.module_name = o.module_name OR m.module_name = o.program_name)
