-- The bytes of each number of `compiled.memory_analysis()`, by the rule of the compiler. A dump has numbers of the host's memory if
-- it has anything in that memory.
-- grain: run_id, relative_path, number_name
WITH ruled AS (
    SELECT
        f.*,
        n.number_order,
        n.number_name,
        COALESCE(r.rule, 'unknown') AS rule,
        r.since_text,
        r.below_text,
        COALESCE(r.is_compared, FALSE) AS is_rule_compared,
        CASE WHEN o.heap_events_id IS NOT NULL THEN COALESCE(p.replayed_bytes, 0) END AS replayed_bytes,
        h.argument_bytes AS host_argument_bytes,
        h.output_bytes AS host_output_bytes,
        h.alias_bytes AS host_alias_bytes,
        h.temp_bytes AS host_temp_bytes
    FROM intermediate.official_figures AS f
    INNER JOIN staging.observations AS o ON f.run_id = o.run_id AND f.relative_path = o.relative_path
    INNER JOIN intermediate.number_names AS n ON n.said_by = 'memory_analysis()'
    LEFT JOIN intermediate.host_parts AS h ON f.dump_id = h.dump_id
    LEFT JOIN intermediate.replayed_heaps AS p ON o.heap_events_id = p.heap_events_id
    LEFT JOIN intermediate.number_rules AS r
        ON f.run_id = r.run_id AND f.relative_path = r.relative_path AND n.figure = r.figure
    WHERE n.number_order < 7 OR h.dump_id IS NOT NULL
)

SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    number_order,  -- Its place among the numbers.
    number_name,  -- What it is called there.
    rule,  -- The rule of its compiler; unknown where none is known.
    since_text,  -- First version that is known to follow it.
    below_text,  -- First version that is not.
    is_rule_compared AS is_compared,  -- Whether it was compared in a release as new as this one.
    CASE
        WHEN number_name <> 'temp_size_in_bytes' OR temp_bytes IS NULL THEN NULL
        WHEN is_temp_by_opcode THEN 'whether it is 0 hangs on what is really stored, which opcodes let one guess'
        WHEN is_covered_guessed
            THEN 'how much is alive hangs on what is really stored: it may be less, and this figure larger'
    END AS guess_text,  -- What it hangs on that the dump does not show; null where it does not.
    static_peak_bytes,  -- The part of the peak that needs no replay.
    CASE number_name
        WHEN 'argument_size_in_bytes' THEN argument_bytes
        WHEN 'output_size_in_bytes' THEN output_bytes
        WHEN 'alias_size_in_bytes' THEN alias_bytes
        WHEN 'temp_size_in_bytes' THEN temp_bytes
        WHEN 'peak_memory_in_bytes'
            THEN COALESCE(peak_bytes, CASE rule WHEN 'static_and_replay' THEN static_peak_bytes + replayed_bytes END)
        WHEN 'host_argument_size_in_bytes' THEN CASE rule WHEN 'all_zero' THEN 0 WHEN 'unknown' THEN NULL ELSE host_argument_bytes END
        WHEN 'host_output_size_in_bytes' THEN CASE rule WHEN 'all_zero' THEN 0 WHEN 'unknown' THEN NULL ELSE host_output_bytes END
        WHEN 'host_alias_size_in_bytes' THEN CASE rule WHEN 'all_zero' THEN 0 WHEN 'unknown' THEN NULL ELSE host_alias_bytes END
        WHEN 'host_temp_size_in_bytes' THEN CASE rule WHEN 'all_zero' THEN 0 WHEN 'unknown' THEN NULL ELSE host_temp_bytes END
    END AS computed_bytes  -- What the rule gives; null where it gives nothing.
FROM ruled
