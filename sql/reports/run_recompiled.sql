-- Functions that were compiled more than once into one folder of some runs, those compiled most often first.
-- grain: run_id, program_name, compile_target
-- parameters: run_ids
WITH ranked AS (
    SELECT
        *,
        COUNT(*) OVER (PARTITION BY run_id, program_name, compile_target) AS folder_count,
        ROW_NUMBER() OVER (
            PARTITION BY run_id, program_name, compile_target
            ORDER BY dump_count DESC, largest_reserved_bytes DESC NULLS LAST, folder ASC
        ) AS place
    FROM recompiled_folders
    WHERE run_id IN ($run_ids)
)

SELECT
    run_id,  -- The run.
    program_name,  -- Module name without the suffixes that count recompiles.
    compile_target,  -- cpu, tpu or a GPU architecture.
    dump_count,  -- Times it was compiled, in the folder with the most.
    identical_count,  -- Compilations that gave a dump the folder had already.
    content_count,  -- Different dumps there.
    signature_count,  -- Different entry signatures there: programs.
    what_varies,  -- Between the signatures; null for none.
    largest_reserved_bytes,  -- Reserved bytes of memory space 0 of the largest of them.
    folder,  -- That folder, as in RUN@folder=; `.` is the run's own.
    folder_count  -- Folders in which it was compiled more than once.
FROM ranked
WHERE place = 1
ORDER BY run_id ASC, dump_count DESC, largest_reserved_bytes DESC NULLS LAST, program_name ASC, compile_target ASC
