-- Soft rules that a dump breaks: it is loaded, and its numbers stand, but something in it is not as XLA prints it.
-- A rule is a check of severity warn; its own text says where it comes from. `checks.RULE` gives every offence.
-- grain: dump_id, rule
-- materialized: incremental by dump_id
-- portable: yes
WITH offences AS (
    SELECT dump_id, 'instruction_texts_agree' AS rule, expected, found FROM checks.instruction_texts_agree
    UNION ALL SELECT dump_id, 'layouts_name_own_space', expected, found FROM checks.layouts_name_own_space
    UNION ALL SELECT dump_id, 'listed_lines_match_values', expected, found FROM checks.listed_lines_match_values
    UNION ALL SELECT dump_id, 'one_output_shape', expected, found FROM checks.one_output_shape
    UNION ALL SELECT dump_id, 'peak_lines_sorted', expected, found FROM checks.peak_lines_sorted
    UNION ALL SELECT dump_id, 'peak_within_reserved', expected, found FROM checks.peak_within_reserved
    UNION ALL SELECT dump_id, 'printed_peak_is_reproduced', expected, found FROM checks.printed_peak_is_reproduced
    UNION ALL SELECT dump_id, 'ranges_in_value_order', expected, found FROM checks.ranges_in_value_order
    UNION ALL SELECT dump_id, 'ranges_start_at_definers', expected, found FROM checks.ranges_start_at_definers
    UNION ALL SELECT dump_id, 'slots_inside_allocations', expected, found FROM checks.slots_inside_allocations
    UNION ALL SELECT dump_id, 'slots_share_one_instant', expected, found FROM checks.slots_share_one_instant
    UNION ALL SELECT dump_id, 'split_ranges_name_values', expected, found FROM checks.split_ranges_name_values
    UNION ALL SELECT dump_id, 'stack_trace_adds_up', expected, found FROM checks.stack_trace_adds_up
    UNION ALL SELECT dump_id, 'stack_trace_shares', expected, found FROM checks.stack_trace_shares
    UNION ALL SELECT dump_id, 'stack_trace_shows_peak', expected, found FROM checks.stack_trace_shows_peak
    UNION ALL SELECT dump_id, 'stack_trace_sorted', expected, found FROM checks.stack_trace_sorted
    UNION ALL SELECT dump_id, 'temps_stand_last', expected, found FROM checks.temps_stand_last
    UNION ALL SELECT dump_id, 'thread_local_holds_one_value', expected, found FROM checks.thread_local_holds_one_value
    UNION ALL SELECT dump_id, 'tuple_tables_in_default_space', expected, found FROM checks.tuple_tables_in_default_space
    UNION ALL SELECT dump_id, 'used_values_have_ranges', expected, found FROM checks.used_values_have_ranges
    UNION ALL SELECT dump_id, 'values_are_unique', expected, found FROM checks.values_are_unique
    UNION ALL SELECT dump_id, 'values_lie_in_own_space', expected, found FROM checks.values_lie_in_own_space
),

counted AS (
    SELECT
        *,
        COUNT(*) OVER (PARTITION BY dump_id, rule) AS occurrence_count,
        ROW_NUMBER() OVER (PARTITION BY dump_id, rule ORDER BY expected, found) AS place
    FROM offences
)

SELECT
    dump_id,  -- The dump.
    rule,  -- The rule it breaks: the name of a check of severity warn.
    occurrence_count,  -- How often it breaks it.
    expected,  -- What was expected, of the first offence in the order of these two texts.
    found  -- What was found there.
FROM counted
WHERE place = 1
