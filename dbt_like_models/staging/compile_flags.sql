-- Options of compilations, from the files that XLA writes beside dumps.
-- grain: compile_flags_id, flag_name
SELECT
    compile_flags_id,  -- The options of a file.
    flag_name,  -- Name of the option; parts of a nested one are joined by dots.
    flag_value,  -- Its value as printed, without quotes; of a repeated one all, by commas.
    origin,  -- Kind of the file: debug_options, tpu_comp_env, module_config or flagfile.
    NOT REGEXP_MATCHES(
        flag_name,
        '(?:^|_)(?:dump|dumping|v?log|logging|logs|(?:min)?loglevel|verbosity)(?:_|$)'
        || '|^(?:v|vmodule|logtostderr|alsologtostderr|stderrthreshold|logbuflevel|logbufsecs)$'
        || '|(?:_|^)(?:dir|directory|cache_file|cache_path|cache_dirs)$'
    ) AS is_effective  -- Whether it may change what is compiled: not one about dumping, logging or places.
FROM raw.compile_flags
