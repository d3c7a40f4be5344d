-- Where the dumps of some runs lie, and what is known of their programs: what stands at the top of a program's page.
-- grain: run_id, program_id, dump_id
-- parameters: run_ids
SELECT
    run_id,  -- The run.
    program_id,  -- The program.
    dump_id,  -- A content of it.
    MIN(relative_path) AS relative_path,  -- A file of it, below the run's root.
    MIN(text_bytes) AS text_bytes  -- Bytes of text.
FROM marts.observations_v1
WHERE run_id IN ($run_ids)
GROUP BY run_id, program_id, dump_id
ORDER BY run_id, program_id, dump_id
