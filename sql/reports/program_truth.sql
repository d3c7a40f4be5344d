-- The official numbers of dumps, as each run sees them: a rule depends on the compiler, which is the run's.
-- grain: dump_id, run_id, relative_path, number_order
-- parameters: dump_ids
SELECT
    dump_id,  -- The dump.
    run_id,  -- The run.
    relative_path,  -- Path of the file below the run's root.
    number_order,  -- Its place among those of the file, from 1.
    said_by,  -- Who says the number.
    number_name,  -- What it is called there.
    memory_space,  -- The memory space that it is of; null for all together.
    message_id,  -- The message that prints it.
    rule,  -- Name of the rule by which it comes from the bytes.
    rule_text,  -- The rule in words.
    holds_since,  -- First release that is known to follow the rule.
    holds_below,  -- First release that does not, or is not known to.
    is_compared,  -- Whether the rule was compared with such numbers of a release as new.
    computed_bytes,  -- What the rule gives.
    computed_position,  -- Moment of the schedule that it gives.
    printed_text,  -- The number as a message prints it.
    printed_bytes,  -- The number itself, where a file that was read has it to the byte.
    printed_position,  -- Moment of the schedule that is printed.
    verdict,  -- agrees, differs, not stored, guessed, printed alone, not in the dump, not reported or unknown.
    why_text  -- Why there are no bytes, why nothing stands against them, or how far they are to be trusted.
FROM marts.official_numbers_v1
WHERE dump_id IN ($dump_ids)
ORDER BY dump_id, run_id, relative_path, number_order
