-- Live ranges, with instruction names.
-- grain: dump_id, ordinal
SELECT
    r.dump_id,  -- The dump.
    r.ordinal,  -- Line of the list.
    r.instruction_id,  -- Instruction that defines the value.
    i.instruction_name,  -- Its name.
    r.shape_index,  -- Which part of the instruction's result.
    r.start_position,  -- First position alive.
    r.end_position  -- Last position alive, included.
FROM raw.live_ranges AS r
INNER JOIN raw.instructions AS i ON r.dump_id = i.dump_id AND r.instruction_id = i.instruction_id
