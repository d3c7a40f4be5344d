-- Options of compilations, from the files that XLA writes beside dumps: .debug_options, .flagfile and others.
-- grain: compile_flags_id, flag_name
-- portable: yes
SELECT
    compile_flags_id,  -- The options of a file; observation_flags names those of an observation.
    flag_name,  -- Name of the option; parts of a nested one are joined by dots.
    flag_value,  -- Its value as printed, without quotes; of a repeated one all, by commas.
    origin,  -- Kind of the file: debug_options, tpu_comp_env, module_config or flagfile.
    is_effective  -- Whether it may change what is compiled: not one about dumping, logging or places.
FROM staging.compile_flags
