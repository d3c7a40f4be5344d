-- Every official number of a program: what memory_analysis(), the dump itself, the memory-usage report, XProf's memory viewer and
-- messages about programs that did not fit say of it, each with the rule by which it comes from the bytes, the compiler since which the rule
-- holds, and the bytes. Where no rule is known the verdict is unknown and there are no bytes.
-- grain: run_id, relative_path, number_order
-- portable: no, because a message is joined to the dump that has its words by functions of texts of DuckDB
SELECT
    n.run_id,  -- The run.
    o.run_name,  -- Its name.
    n.relative_path,  -- Path of the file below the run's root.
    n.dump_id,  -- Its content.
    o.program_id,  -- The program: its name and entry signature.
    o.program_name,  -- Its name; a weak key.
    o.compile_target,  -- cpu, tpu or a GPU architecture.
    r.compiler,  -- What embeds XLA, as the run says.
    r.compiler_version,  -- Version of the compiler, as the run says.
    o.compiler_revision,  -- CL number in the name of the file.
    ROW_NUMBER() OVER (
        PARTITION BY n.dump_id, n.run_id, n.relative_path
        ORDER BY
            CASE WHEN n.message_id IS NULL THEN n.number_order END ASC NULLS LAST,
            n.memory_space ASC NULLS FIRST,
            n.message_id ASC,
            n.number_order ASC
    ) AS number_order,  -- Place of the number among those of a file, from 1; figures of a message stand together.
    n.said_by,  -- Who says it: memory_analysis(), the dump, memory-usage report, XProf or OOM message.
    n.number_name,  -- What it is called there.
    n.memory_space,  -- The memory space that it is of; null for all together, and for a message.
    n.message_id,  -- The message that prints it, in oom; null for others.
    n.rule,  -- Name of the rule by which it comes from the bytes; unknown where none is known.
    CASE
        WHEN n.rule = 'unknown' THEN 'not known'
        ELSE COALESCE(t.rule_text, a.rule_text)
    END AS rule_text,  -- The rule in words.
    n.since_text AS holds_since,  -- First release that is known to follow the rule; null where nobody knows.
    n.below_text AS holds_below,  -- First release that does not, or is not known to; null where none is known.
    n.is_compared,  -- Whether the rule was compared with such numbers of a release as new as this one.
    n.computed_bytes,  -- What the rule gives; null where it is unknown, or what it takes is not there.
    n.computed_position,  -- Moment of the schedule that it gives; null but for the printed peak.
    n.printed_text,  -- The number as a message prints it.
    n.printed_bytes,  -- The number itself, where a file that was read has it to the byte.
    n.printed_position,  -- Moment of the schedule that is printed; null but for the printed peak.
    n.verdict,  -- agrees, differs, not stored, guessed, printed alone, not in the dump, not reported or unknown.
    CASE
        WHEN o.did_not_fit AND n.said_by IN ('memory_analysis()', 'XProf')
            THEN concat_ws('; ', 'the program did not fit: where its compilation failed nobody could ask', n.why_text)
        WHEN n.why_text IS NOT NULL OR n.rule <> 'unknown' OR n.said_by = 'OOM message' THEN n.why_text
        WHEN v.compiler IS NULL THEN 'nothing says which compiler made the dump'
        WHEN v.version IS NULL AND v.revision IS NULL THEN 'no release of ' || v.compiler || ' is said that has a number'
        ELSE 'no rule is known of ' || v.compiler || ' ' || v.release_text || ' on ' || v.platform
    END AS why_text  -- Why there are no bytes, why nothing stands against them, or how far they are to be trusted.
FROM intermediate.all_numbers AS n
INNER JOIN marts.observations_v2 AS o ON n.run_id = o.run_id AND n.relative_path = o.relative_path
INNER JOIN staging.runs AS r ON n.run_id = r.run_id
LEFT JOIN intermediate.compiler_versions AS v ON n.run_id = v.run_id AND n.relative_path = v.relative_path
LEFT JOIN intermediate.rule_texts AS t ON n.said_by = t.said_by AND n.rule = t.rule AND n.number_name = t.number_name
LEFT JOIN intermediate.rule_texts AS a ON n.said_by = a.said_by AND n.rule = a.rule AND a.number_name IS NULL
