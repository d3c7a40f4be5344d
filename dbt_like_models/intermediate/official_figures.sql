-- The figures of `compiled.memory_analysis()`, each by the rule of its compiler; docs/measures.md says what they are.
-- grain: run_id, relative_path
WITH ruled AS (
    SELECT
        o.run_id,
        o.relative_path,
        p.*,
        (p.arena_bytes + 16383) // 16384 * 16384 AS arena_granule_bytes,  -- libtpu gives memory out in 16 KiB.
        COALESCE(c.sizes_rule, 'unknown') AS sizes_rule,
        COALESCE(c.temp_rule, 'unknown') AS temp_rule,
        COALESCE(c.peak_rule, 'unknown') AS peak_rule,
        COALESCE(c.is_compared, FALSE) AS is_compared,
        CASE c.sizes_rule WHEN 'flags_of_allocations' THEN 1 WHEN 'all_zero' THEN 0 END AS sizes_factor,
        -- A dump without a row has no value that is stored in the arena.
        CASE WHEN v.dump_id IS NULL THEN FALSE ELSE v.has_stored_element END AS has_stored_element,
        CASE WHEN v.dump_id IS NULL THEN FALSE ELSE v.has_stored_array END AS has_stored_array,
        COALESCE(v.may_lack_values, FALSE) AS may_lack_values,
        COALESCE(v.is_by_opcode, FALSE) AS is_by_opcode
    FROM staging.observations AS o
    INNER JOIN intermediate.official_parts AS p ON o.dump_id = p.dump_id
    LEFT JOIN intermediate.official_compilers AS c ON o.run_id = c.run_id AND o.relative_path = c.relative_path
    LEFT JOIN intermediate.arena_values AS v ON o.dump_id = v.dump_id
)

SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    sizes_rule,  -- Rule of argument, output and alias.
    temp_rule,  -- Rule of temp.
    peak_rule,  -- Rule of peak.
    is_compared,  -- Whether each rule was compared with a release as new as this compiler.
    argument_bytes * sizes_factor AS argument_bytes,  -- argument_size_in_bytes.
    output_bytes * sizes_factor AS output_bytes,  -- output_size_in_bytes.
    alias_bytes * sizes_factor AS alias_bytes,  -- alias_size_in_bytes.
    CASE temp_rule
        WHEN 'all_zero' THEN 0
        WHEN 'preallocated_temps' THEN temp_bytes
        WHEN 'twice_arena_less_covered'
            THEN CASE WHEN has_stored_element THEN 2 * arena_granule_bytes - arena_held_bytes ELSE 0 END
        WHEN 'arena_in_16_kib'
            THEN CASE WHEN has_stored_array THEN arena_granule_bytes ELSE 0 END
    END AS temp_bytes,  -- temp_size_in_bytes.
    CASE
        WHEN temp_rule IN ('twice_arena_less_covered', 'arena_in_16_kib') THEN is_by_opcode
    END AS is_temp_by_opcode,  -- Whether temp hangs on what the opcodes of single elements let one guess.
    -- The bytes of loop counters beside arrays were seen to be missing in what libtpu finds alive, among others.
    temp_rule = 'twice_arena_less_covered' AND may_lack_values AND COALESCE(has_stored_element, TRUE)
        AS is_covered_guessed,  -- Whether libtpu may find less alive than the dump shows, so that temp is larger.
    CASE
        WHEN peak_rule = 'static' OR (peak_rule = 'static_and_replay' AND all_temp_bytes = 0) THEN static_peak_bytes
    END AS peak_bytes,  -- peak_memory_in_bytes; null where a replay makes it.
    static_peak_bytes,  -- The part of the peak that needs no replay.
    CASE sizes_rule WHEN 'flags_of_allocations' THEN host_bytes END AS host_bytes,  -- In the host's memory.
    footprint_bytes  -- Footprint over all memory spaces.
FROM ruled
