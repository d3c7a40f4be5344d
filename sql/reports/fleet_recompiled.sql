-- Functions that were compiled more than once into one folder of a run, over all runs: those compiled most often first.
-- grain: program_name, compile_target
-- parameters: recompiled (rows)
SELECT
    program_name,  -- Module name without the suffixes that count recompiles.
    compile_target,  -- cpu, tpu or a GPU architecture.
    CAST(COUNT(DISTINCT run_id) AS BIGINT) AS run_count,  -- Runs that compiled it more than once into one folder.
    MAX(dump_count) AS dump_count,  -- Most compilations in one folder of a run.
    MAX(signature_count) AS signature_count,  -- Most entry signatures in one folder of a run.
    MAX(identical_count) AS identical_count,  -- Most compilations in one folder that gave a dump it had already.
    ARG_MAX(run_name, (dump_count, run_id)) AS run_name,  -- A run with the most compilations; of several the one that came last.
    MAX(largest_reserved_bytes) AS largest_reserved_bytes  -- Reserved bytes of memory space 0 of the largest of them.
FROM recompiled_folders
GROUP BY program_name, compile_target
ORDER BY dump_count DESC, largest_reserved_bytes DESC NULLS LAST, program_name ASC, compile_target ASC
LIMIT $recompiled
