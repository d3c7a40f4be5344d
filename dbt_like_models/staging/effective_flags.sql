-- Options with which a dump was compiled and which may change what is compiled: all except those about dumping and
-- logging, and those that name directories. Each once, from the most reliable kind of file.
-- grain: run_id, relative_path, flag_name
SELECT
    o.run_id,  -- The run the file belongs to.
    o.relative_path,  -- Path below the run's root.
    MIN(o.dump_id) AS dump_id,  -- The content that was seen.
    MIN(o.program_id) AS program_id,  -- The program: its name and entry signature.
    f.flag_name,  -- Name of the option; parts of a nested one are joined by dots.
    ARG_MIN(f.flag_value, o.rank) AS flag_value,  -- Its value as printed, without quotes; of a repeated one all.
    ARG_MIN(f.origin, o.rank) AS origin  -- Kind of the file: debug_options, tpu_comp_env, module_config or flagfile.
FROM staging.observation_flags AS o
INNER JOIN staging.compile_flags AS f ON o.compile_flags_id = f.compile_flags_id
WHERE f.is_effective
GROUP BY o.run_id, o.relative_path, f.flag_name
