-- What `compiled.memory_analysis()` says of each dump, one number a row, by the rule of its compiler. No file beside a dump keeps
-- what was said: these numbers stand against nothing.
-- grain: run_id, relative_path, number_name
WITH named AS (
    SELECT *
    FROM (
        VALUES
        (1, 'argument_size_in_bytes', 'sizes'),
        (2, 'output_size_in_bytes', 'sizes'),
        (3, 'alias_size_in_bytes', 'sizes'),
        (4, 'temp_size_in_bytes', 'temp'),
        (5, 'peak_memory_in_bytes', 'peak'),
        (6, 'generated_code_size_in_bytes', 'code'),
        (7, 'host_argument_size_in_bytes', 'sizes'),
        (8, 'host_output_size_in_bytes', 'sizes'),
        (9, 'host_alias_size_in_bytes', 'sizes'),
        (10, 'host_temp_size_in_bytes', 'temp')
    ) AS numbers (number_order, number_name, figure)
),

host AS (
    SELECT
        dump_id,
        SUM(CASE WHEN parameter_number IS NOT NULL THEN size_bytes ELSE 0 END) AS argument_bytes,
        SUM(CASE WHEN is_maybe_live_out THEN size_bytes ELSE 0 END) AS output_bytes,
        SUM(CASE WHEN parameter_number IS NOT NULL AND is_maybe_live_out THEN size_bytes ELSE 0 END) AS alias_bytes,
        SUM(CASE WHEN kind = 'temp' THEN size_bytes ELSE 0 END) AS temp_bytes
    FROM staging.allocations
    WHERE memory_space = 5
    GROUP BY dump_id
),

computed AS (
    SELECT
        f.run_id,
        f.relative_path,
        f.dump_id,
        n.number_order,
        n.number_name,
        COALESCE(r.rule, 'unknown') AS rule,
        r.since_text,
        r.below_text,
        -- No program that was compared has anything in the host's memory.
        COALESCE(r.is_compared, FALSE) AND n.number_order < 7 AS is_compared,
        f.is_temp_by_opcode,
        f.static_peak_bytes,
        CASE n.number_name
            WHEN 'argument_size_in_bytes' THEN f.argument_bytes
            WHEN 'output_size_in_bytes' THEN f.output_bytes
            WHEN 'alias_size_in_bytes' THEN f.alias_bytes
            WHEN 'temp_size_in_bytes' THEN f.temp_bytes
            WHEN 'peak_memory_in_bytes' THEN COALESCE(
                f.peak_bytes,
                CASE
                    WHEN f.peak_rule = 'static_and_replay' AND o.heap_events_id IS NOT NULL
                        THEN f.static_peak_bytes + COALESCE(p.replayed_bytes, 0)
                END
            )
            WHEN 'host_argument_size_in_bytes'
                THEN CASE r.rule WHEN 'flags_of_allocations' THEN h.argument_bytes WHEN 'all_zero' THEN 0 END
            WHEN 'host_output_size_in_bytes'
                THEN CASE r.rule WHEN 'flags_of_allocations' THEN h.output_bytes WHEN 'all_zero' THEN 0 END
            WHEN 'host_alias_size_in_bytes'
                THEN CASE r.rule WHEN 'flags_of_allocations' THEN h.alias_bytes WHEN 'all_zero' THEN 0 END
            WHEN 'host_temp_size_in_bytes'
                THEN CASE r.rule WHEN 'preallocated_temps' THEN h.temp_bytes WHEN 'all_zero' THEN 0 END
        END AS computed_bytes
    FROM intermediate.official_figures AS f
    INNER JOIN staging.observations AS o ON f.run_id = o.run_id AND f.relative_path = o.relative_path
    CROSS JOIN named AS n
    LEFT JOIN host AS h ON f.dump_id = h.dump_id
    LEFT JOIN intermediate.replayed_heaps AS p ON o.heap_events_id = p.heap_events_id
    LEFT JOIN intermediate.number_rules AS r
        ON f.run_id = r.run_id AND f.relative_path = r.relative_path AND n.figure = r.figure
    WHERE n.number_order < 7 OR h.dump_id IS NOT NULL
)

SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    CAST(number_order AS BIGINT) AS number_order,  -- Its place among the numbers.
    'memory_analysis()' AS said_by,  -- Who says it.
    number_name,  -- What it is called there.
    CASE
        WHEN number_name LIKE 'host_temp%' AND rule NOT IN ('preallocated_temps', 'all_zero') THEN 'unknown' ELSE rule
    END AS rule,  -- The rule of its compiler.
    since_text,  -- First version that is known to follow it.
    below_text,  -- First version that is not.
    is_compared,  -- Whether it was compared with the compiler's own number in a release as new as this one.
    CAST(computed_bytes AS BIGINT) AS computed_bytes,  -- What the rule gives.
    CASE
        WHEN rule = 'not_reported' THEN 'not reported'
        WHEN number_name = 'temp_size_in_bytes' AND is_temp_by_opcode AND computed_bytes IS NOT NULL THEN 'guessed'
        WHEN computed_bytes IS NOT NULL THEN 'not stored'
        WHEN rule = 'unknown' OR number_name LIKE 'host_temp%' THEN 'unknown'
        ELSE 'not in the dump'
    END AS verdict,  -- Whether there is a number, and what is known of it.
    CASE
        WHEN number_name = 'generated_code_size_in_bytes' THEN 'machine code is no part of a buffer assignment'
        WHEN number_name = 'temp_size_in_bytes' AND is_temp_by_opcode AND computed_bytes IS NOT NULL
            THEN 'whether it is 0 hangs on what is really stored, which opcodes let one guess'
        WHEN computed_bytes IS NOT NULL OR rule IN ('unknown', 'not_reported') THEN NULL
        WHEN number_name = 'peak_memory_in_bytes'
            THEN 'only a proto tells the replay of temporaries; without it the rule gives '
            || CAST(static_peak_bytes AS VARCHAR) || ' bytes'
        WHEN number_name = 'temp_size_in_bytes' THEN 'the dump has no live ranges'
    END AS why_text  -- Why there are no bytes, or how far they are to be trusted.
FROM computed
