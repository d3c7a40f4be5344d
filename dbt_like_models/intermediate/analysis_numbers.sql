-- What `compiled.memory_analysis()` says of each dump, one number a row, by the rule of its compiler. No file beside a dump keeps
-- what the compiler said, so there is nothing to compare these numbers with.
-- grain: run_id, relative_path, number_name
SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    number_order,  -- Its place among the numbers.
    'memory_analysis()' AS said_by,  -- Who says it.
    number_name,  -- What it is called there.
    rule,  -- The rule of its compiler.
    since_text,  -- First version that is known to follow it.
    below_text,  -- First version that is not.
    is_compared,  -- Whether it was compared with the compiler's own number in a release as new as this one.
    CAST(computed_bytes AS BIGINT) AS computed_bytes,  -- What the rule gives.
    CASE
        WHEN rule = 'not_reported' THEN 'not reported'
        WHEN guess_text IS NOT NULL THEN 'guessed'
        WHEN computed_bytes IS NOT NULL THEN 'not stored'
        WHEN rule = 'unknown' THEN 'unknown'
        ELSE 'not in the dump'
    END AS verdict,  -- Whether there is a number, and what is known of it.
    CASE
        WHEN number_name = 'generated_code_size_in_bytes' THEN 'machine code is no part of a buffer assignment'
        WHEN guess_text IS NOT NULL THEN guess_text
        WHEN computed_bytes IS NOT NULL OR rule IN ('unknown', 'not_reported') THEN NULL
        WHEN number_name = 'peak_memory_in_bytes'
            THEN 'only a proto tells the replay of temporaries; without it the rule gives '
            || CAST(static_peak_bytes AS VARCHAR) || ' bytes'
        WHEN number_name = 'temp_size_in_bytes' THEN 'the dump has no live ranges'
    END AS why_text  -- Why there are no bytes, or how far they are to be trusted.
FROM intermediate.analysis_bytes
