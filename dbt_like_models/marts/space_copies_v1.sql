-- Copies from one memory space to another: bytes, when they begin and are done, how long both sides live, and of what is
-- moved out and copied back, such as an offload to the host: how long it is away, and what that takes off the peak.
-- grain: dump_id, value_id, source_value_id
-- portable: yes
SELECT
    c.dump_id,  -- The dump.
    c.value_id,  -- The copy.
    v.memory_space,  -- Memory space that it is copied to; 0 is the default (HBM on TPU).
    c.instruction_name,  -- Instruction that defines it.
    c.opcode,  -- Its operation: copy, copy-start, slice, dynamic-slice or dynamic-update-slice.
    v.shape_text,  -- Shape as printed.
    v.size_bytes,  -- Its slot, in bytes.
    c.source_value_id,  -- The value that is copied.
    s.memory_space AS source_memory_space,  -- Memory space that it is copied from.
    s.instruction_name AS source_instruction_name,  -- Instruction that defines the value.
    s.size_bytes AS source_size_bytes,  -- Slot of the value, in bytes.
    COALESCE(t.op_name, f.op_name) AS op_name,  -- Name of the framework operation of the copy, else of the value that is copied.
    CASE WHEN t.op_name IS NULL THEN f.source_file ELSE t.source_file END AS source_file,  -- Its source file.
    CASE WHEN t.op_name IS NULL THEN f.source_line ELSE t.source_line END AS source_line,  -- Line in it.
    LEAST(v.logical_bytes, s.logical_bytes) AS copied_bytes,  -- Bytes that are moved, without padding: of a slice the part.
    c.is_asynchronous,  -- Whether other instructions run until it is done.
    c.copy_position,  -- Line in the schedule at which it begins.
    c.done_position,  -- Line at which it is done; its own where it is not asynchronous.
    s.start_position AS source_start_position,  -- First position at which the value that is copied is alive.
    s.end_position AS source_end_position,  -- Last position, included.
    v.start_position,  -- First position at which the copy is alive.
    v.end_position,  -- Last position, included.
    CASE
        WHEN s.start_position IS NULL OR v.start_position IS NULL THEN NULL
        WHEN LEAST(s.end_position, v.end_position) < GREATEST(s.start_position, v.start_position) THEN 0
        ELSE LEAST(s.end_position, v.end_position) - GREATEST(s.start_position, v.start_position) + 1
    END AS both_alive_position_count,  -- Positions at which both are alive.
    r.return_instruction_name,  -- Instruction that first copies it back to the space where it was; null where none does.
    r.return_position,  -- First position at which it is there again.
    r.away_position_count,  -- Positions at which it is in the other space alone; 0 where it is kept meanwhile.
    r.saved_bytes  -- What this takes off the occupied peak of that space, schedule kept; null where it is not copied back.
FROM intermediate.space_copies AS c
INNER JOIN staging.hlo_values AS v ON c.dump_id = v.dump_id AND c.value_id = v.value_id
INNER JOIN staging.hlo_values AS s ON c.dump_id = s.dump_id AND c.source_value_id = s.value_id
LEFT JOIN staging.instruction_texts AS t
    ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
LEFT JOIN staging.instruction_texts AS f
    ON s.dump_id = f.dump_id AND s.instruction_text_id = f.instruction_text_id
LEFT JOIN intermediate.round_trips AS r ON c.dump_id = r.dump_id AND c.value_id = r.value_id
