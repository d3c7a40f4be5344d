-- The files that tell the options with which a dump was compiled. Where several tell of one option, that with the
-- lowest rank is right.
-- grain: run_id, relative_path, compile_flags_id
-- portable: yes
SELECT
    run_id,  -- The run the file belongs to.
    relative_path,  -- Path below the run's root.
    dump_id,  -- The content that was seen.
    program_id,  -- The program: its name and entry signature.
    compile_flags_id,  -- The options of a file beside it.
    origin,  -- Kind of the file: debug_options, tpu_comp_env, module_config or flagfile.
    rank  -- 0 for the kind that tells an option best.
FROM staging.observation_flags
