-- Functions that were compiled more than once into one folder of a run, over all runs: those compiled most often first.
-- grain: program_name, compile_target
-- parameters: recompiled (rows)
WITH ordered AS (
    -- The number of a run does not say when it came: in a lake it is a hash of the name.
    SELECT f.*, r.run_order
    FROM recompiled_folders AS f
    INNER JOIN marts.runs_v2 AS r ON f.run_id = r.run_id
)

SELECT
    program_name,  -- Module name without the suffixes that count recompiles.
    compile_target,  -- cpu, tpu or a GPU architecture.
    CAST(COUNT(DISTINCT run_id) AS BIGINT) AS run_count,  -- Runs that compiled it more than once into one folder.
    MAX(dump_count) AS dump_count,  -- Most compilations in one folder of a run.
    ARG_MAX(signature_count, (dump_count, run_order, folder)) AS signature_count,  -- Entry signatures in that folder.
    ARG_MAX(identical_count, (dump_count, run_order, folder)) AS identical_count,  -- Its compilations that gave a dump it had already.
    ARG_MAX(run_name, (dump_count, run_order, folder)) AS run_name,  -- The run of that folder; of several the newest.
    ARG_MAX(largest_reserved_bytes, (dump_count, run_order, folder)) AS largest_reserved_bytes  -- Of memory space 0 of the largest of them.
FROM ordered
GROUP BY program_name, compile_target
ORDER BY dump_count DESC, largest_reserved_bytes DESC NULLS LAST, program_name ASC, compile_target ASC
LIMIT $recompiled
