-- What XProf's memory viewer shows of each memory space of a dump, as its source computes it
-- (xprof/convert/hlo_proto_to_memory_visualization_utils.cc of 2026). Nobody compared it with what XProf shows.
-- grain: run_id, relative_path, number_name, memory_space
SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    number_order,  -- Its place among the numbers.
    'XProf' AS said_by,  -- Who says it.
    number_name,  -- What it is called there; XProf shows MiB.
    memory_space,  -- The memory space that it is of.
    rule,  -- The rule in its source.
    'XProf of 2026' AS since_text,  -- The source that was read.
    FALSE AS is_compared,  -- It never was.
    CAST(computed_bytes AS BIGINT) AS computed_bytes,  -- What the rule gives.
    CASE
        WHEN computed_bytes IS NOT NULL THEN 'not stored'
        WHEN choice_count > 1 THEN 'unknown'
        WHEN allocation_count > 1 THEN 'not reported'
        ELSE 'not in the dump'
    END AS verdict,  -- Whether there is a number, and what is known of it.
    CASE
        WHEN computed_bytes IS NOT NULL THEN 'read in its source, not compared with what it shows'
        WHEN choice_count > 1 THEN 'it replays one of ' || CAST(choice_count AS VARCHAR) || ' heap traces, any of them'
        WHEN allocation_count > 1 THEN 'it refuses a heap trace whose values lie in several allocations'
        ELSE 'only a proto tells the heap trace that is replayed; without it the rule gives '
            || CAST(indefinite_bytes AS VARCHAR) || ' bytes'
    END AS why_text  -- Why there are no bytes, or how far they are to be trusted.
FROM intermediate.xprof_bytes
