-- Functions that were compiled more than once in some runs, those compiled most often first.
-- grain: run_id, program_name, compile_target
-- parameters: run_ids
SELECT
    run_id,  -- The run.
    program_name,  -- Module name without the suffixes that count recompiles.
    compile_target,  -- cpu, tpu or a GPU architecture.
    dump_count,  -- Times it was compiled.
    identical_count,  -- Compilations that gave a dump the run had already.
    content_count,  -- Different dumps.
    signature_count,  -- Different entry signatures: programs.
    NULLIF(CONCAT_WS(
        ', ',
        CASE WHEN has_other_arity THEN 'number of leaves' END,
        CASE WHEN has_other_element_types THEN 'element types' END,
        CASE WHEN has_other_rank THEN 'number of dimensions' END,
        CASE WHEN has_other_dims THEN 'dimensions' END
    ), '') AS what_varies,  -- Between the signatures; null for none.
    largest_reserved_bytes  -- Reserved bytes of memory space 0 of the largest of them.
FROM marts.retraced_programs_v1
WHERE run_id IN ($run_ids)
ORDER BY run_id ASC, dump_count DESC, largest_reserved_bytes DESC NULLS LAST, program_name ASC, compile_target ASC
