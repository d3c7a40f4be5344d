-- The options that some files tell.
-- grain: compile_flags_id, flag_name
-- parameters: compile_flags_ids (the sets)
SELECT
    compile_flags_id,  -- The options of a file.
    origin,  -- Kind of the file.
    flag_name,  -- Name of the option.
    flag_value,  -- Its value as printed.
    is_effective  -- Whether it may change what is compiled.
FROM marts.compile_flags_v1
WHERE compile_flags_id IN ($compile_flags_ids)
ORDER BY ALL
