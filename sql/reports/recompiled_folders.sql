-- Functions that were compiled more than once into one folder of a run: kept while a report of runs or of the fleet is asked.
-- Each process of a job of several hosts compiles a function once, and has a folder of its own. A module without a name
-- belongs to no function.
-- grain: run_id, folder, program_name, compile_target
WITH sightings AS (
    SELECT
        run_id,
        run_name,
        COALESCE(NULLIF(regexp_replace(relative_path, '/?[^/]*$', ''), ''), '.') AS folder,
        program_name,
        compile_target,
        program_id,
        dump_id
    FROM marts.observations_v1
    WHERE program_name <> '(unnamed)'
),

repeated AS (
    SELECT
        *,
        COUNT(*) OVER (PARTITION BY run_id, folder, program_name, compile_target) AS sighting_count
    FROM sightings
),

forms AS (
    SELECT
        r.*,
        m.reserved_bytes,
        -- A signature reads (f32[16,32], s32[])->(f32[16]): its dimensions, then its types are left out.
        regexp_replace(p.entry_signature, '[a-z][a-z0-9]*\[', '[', 'g') AS dims_form,
        regexp_replace(p.entry_signature, '\[[^\]]*\]', '', 'g') AS types_form
    FROM repeated AS r
    INNER JOIN marts.programs_v1 AS p ON r.program_id = p.program_id
    LEFT JOIN marts.peak_memory_v1 AS m ON r.dump_id = m.dump_id AND m.memory_space = 0
    WHERE r.sighting_count > 1
),

counted AS (
    SELECT
        run_id,
        folder,
        program_name,
        compile_target,
        MAX(run_name) AS run_name,
        COUNT(*) AS dump_count,
        COUNT(DISTINCT program_id) AS signature_count,
        COUNT(DISTINCT dump_id) AS content_count,
        COUNT(DISTINCT regexp_replace(types_form, '[a-z][a-z0-9]*', 'x', 'g')) AS arity_count,
        COUNT(DISTINCT regexp_replace(dims_form, '[^][,()> -]+', 'n', 'g')) AS rank_count,
        COUNT(DISTINCT dims_form) AS dims_count,
        COUNT(DISTINCT types_form) AS types_count,
        MAX(reserved_bytes) AS largest_reserved_bytes
    FROM forms
    GROUP BY run_id, folder, program_name, compile_target
)

SELECT
    run_id,  -- The run.
    run_name,  -- Its name.
    folder,  -- Folder of the run in which the dumps lie, as in RUN@folder=; `.` is the run's own.
    program_name,  -- Module name without the suffixes that count recompiles.
    compile_target,  -- cpu, tpu or a GPU architecture.
    dump_count,  -- Times it was compiled.
    dump_count - content_count AS identical_count,  -- Compilations that gave a dump the folder had already.
    content_count,  -- Different dumps.
    signature_count,  -- Different entry signatures: programs.
    NULLIF(CONCAT_WS(
        ', ',
        CASE WHEN arity_count > 1 THEN 'number of leaves' END,
        CASE WHEN types_count > arity_count THEN 'element types' END,
        CASE WHEN rank_count > arity_count THEN 'number of dimensions' END,
        CASE WHEN dims_count > rank_count THEN 'dimensions' END
    ), '') AS what_varies,  -- Between the signatures; null for none.
    largest_reserved_bytes  -- Reserved bytes of memory space 0 of the largest of them.
FROM counted
