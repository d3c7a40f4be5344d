-- Functions that were compiled more than once in a run: the number of entry signatures, what varies between them, and
-- how often the same program was compiled again identically.
-- grain: run_id, program_name, compile_target
-- portable: yes
WITH forms AS (
    SELECT
        o.run_id,
        o.run_name,
        o.program_name,
        o.compile_target,
        o.dump_id,
        o.program_id,
        p.reserved_bytes,
        COUNT(*) OVER (PARTITION BY o.run_id, o.program_name, o.compile_target, o.dump_id) AS sighting_count,
        -- A signature reads (f32[16,32], s32[])->(f32[16]): its dimensions, then its types are left out.
        regexp_replace(d.entry_signature, '[a-z][a-z0-9]*\[', '[', 'g') AS dims_form,
        regexp_replace(d.entry_signature, '\[[^\]]*\]', '', 'g') AS types_form
    FROM marts.observations_v1 AS o
    INNER JOIN staging.dumps AS d ON o.dump_id = d.dump_id
    LEFT JOIN intermediate.space_totals AS p ON o.dump_id = p.dump_id AND p.memory_space = 0
),

counted AS (
    SELECT
        run_id,
        program_name,
        compile_target,
        MAX(run_name) AS run_name,
        COUNT(*) AS dump_count,
        COUNT(DISTINCT program_id) AS signature_count,
        COUNT(DISTINCT dump_id) AS content_count,
        MAX(sighting_count) AS most_identical_count,
        COUNT(DISTINCT regexp_replace(types_form, '[a-z][a-z0-9]*', 'x', 'g')) AS arity_count,
        COUNT(DISTINCT regexp_replace(dims_form, '[^][,()> -]+', 'n', 'g')) AS rank_count,
        COUNT(DISTINCT dims_form) AS dims_count,
        COUNT(DISTINCT types_form) AS types_count,
        MAX(reserved_bytes) AS largest_reserved_bytes
    FROM forms
    GROUP BY run_id, program_name, compile_target
)

SELECT
    run_id,  -- The run.
    run_name,  -- Its name.
    program_name,  -- Module name without the suffixes that count recompiles.
    compile_target,  -- cpu, tpu or a GPU architecture.
    dump_count,  -- Times it was compiled.
    signature_count,  -- Different entry signatures.
    content_count,  -- Different dumps.
    dump_count - content_count AS identical_count,  -- Compilations that gave a dump the run had already.
    most_identical_count,  -- Most sightings of one and the same dump.
    arity_count > 1 AS has_other_arity,  -- Whether signatures differ in their number of leaves.
    types_count > arity_count AS has_other_element_types,  -- Whether some of equal arity differ in element types.
    rank_count > arity_count AS has_other_rank,  -- Whether some of equal arity differ in their numbers of dimensions.
    dims_count > rank_count AS has_other_dims,  -- Whether some of equal ranks differ in their dimensions.
    largest_reserved_bytes  -- Reserved bytes of memory space 0 of the largest of them.
FROM counted
WHERE dump_count > 1
