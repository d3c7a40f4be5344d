-- What a dump knows of an instruction: its values, with op_name and source line.
-- grain: value_id
-- parameters: dump_id, instruction
SELECT
    value_id,  -- The value.
    instruction_name AS instruction,  -- Instruction that defines it.
    shape_text AS shape,  -- Shape as printed.
    size_bytes,  -- Its slot.
    op_name,  -- Name of the framework operation.
    source_file || COALESCE(':' || source_line, '') AS source  -- Where it was written.
FROM marts.allocation_map_v1
WHERE dump_id = $dump_id AND instruction_name = $instruction
ORDER BY size_bytes DESC, value_id
