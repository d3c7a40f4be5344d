-- The files with the options with which a dump was compiled: one row for each file of the newest sighting.
-- grain: run_id, relative_path, compile_flags_id
WITH files AS (
    SELECT
        run_id,
        relative_path,
        dump_id,
        program_id,
        UNNEST(compile_flags_ids) AS compile_flags_id
    FROM staging.observations
),

origins AS (
    SELECT
        compile_flags_id,
        MIN(origin) AS origin
    FROM raw.compile_flags
    GROUP BY compile_flags_id
)

SELECT
    f.run_id,  -- The run the file belongs to.
    f.relative_path,  -- Path below the run's root.
    f.dump_id,  -- The content that was seen.
    f.program_id,  -- The program: its name and entry signature.
    f.compile_flags_id,  -- The options of a file beside it.
    o.origin,  -- Kind of the file: debug_options, tpu_comp_env, module_config or flagfile.
    CASE o.origin
        WHEN 'debug_options' THEN 0 WHEN 'tpu_comp_env' THEN 1 WHEN 'module_config' THEN 2 ELSE 3
    END AS rank  -- 0 for the kind that tells an option best.
FROM files AS f
INNER JOIN origins AS o ON f.compile_flags_id = o.compile_flags_id
