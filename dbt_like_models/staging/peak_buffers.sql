-- What XLA lists at its printed peak, with instruction names.
-- grain: dump_id, ordinal
SELECT
    p.dump_id,  -- The dump.
    p.ordinal,  -- Line of the list.
    p.instruction_id,  -- Instruction that defines the value.
    i.instruction_name,  -- Its name.
    p.shape_index,  -- Which part of the instruction's result.
    p.listed_bytes,  -- Bytes as printed.
    p.cumulative_bytes  -- Sum of the lines so far, where printed.
FROM raw.peak_buffers AS p
INNER JOIN raw.instructions AS i ON p.dump_id = i.dump_id AND p.instruction_id = i.instruction_id
