-- The largest allocations that these messages list.
-- grain: run_id, relative_path, message_number, ordinal
SELECT
    m.run_id,  -- The run that the log is of.
    m.relative_path,  -- The log: its path below the run's root, from there with .. where it lies beside, else whole.
    m.message_number,  -- Number of the message in its log, from 0.
    m.ordinal,  -- Place of the block in the message, from 0.
    m.listed_number,  -- Its number as printed.
    m.printed_text,  -- Its size as printed, such as 7.31G.
    m.nominal_bytes,  -- Bytes that the printed size names, one size of many that are printed so.
    m.instruction_name,  -- Instruction that its label begins with.
    m.op_name,  -- Name of the framework operation.
    m.source_file,  -- Source file of the user's program.
    m.source_line,  -- Line in it.
    m.shape_text,  -- Its shape.
    m.unpadded_text,  -- Its size without padding, as printed.
    m.padding_text,  -- What padding adds, as printed.
    m.tag,  -- What it is for.
    m.label,  -- Its label: the instruction as XLA prints it, which may end in dots.
    m.allocation_type  -- Its kind as printed: HLO temp or scoped, say.
FROM raw.oom_allocations AS m
INNER JOIN staging.oom_logs AS l
    ON m.run_id = l.run_id AND m.relative_path = l.relative_path AND m.load_id = l.messages_load_id
