-- Where the dumps of some runs lie, and what is known of their programs: what stands at the top of a program's page.
-- grain: run_id, program_id, dump_id
-- parameters: run_ids
SELECT
    run_id,  -- The run.
    program_id,  -- The program.
    dump_id,  -- A content of it.
    MIN(relative_path) AS relative_path,  -- A file of it, below the run's root.
    MIN(text_bytes) AS text_bytes,  -- Bytes of text.
    BOOL_OR(did_not_fit) AS did_not_fit,  -- It did not fit, as files beside it or a message of its run say; null where nothing says so.
    BOOL_OR(has_allocations_alone) AS has_allocations_alone  -- No values and no live ranges: nothing says that its allocations are all.
FROM marts.observations_v2
WHERE run_id IN ($run_ids)
GROUP BY run_id, program_id, dump_id
ORDER BY run_id, program_id, dump_id
