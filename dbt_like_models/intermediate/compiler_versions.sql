-- Which compiler made each dump, as numbers that rules can be compared with. The file name says for which platform: a TPU
-- job leaves dumps of its CPU modules as well, and their compiler is not the run's. Only libtpu writes revisions into file
-- names: one that is known tells the release, whatever was said of the run. Versions are numbers: 0.10.2 is 10002. A
-- pre-release may stand on either side of a change: it has no number. Nor has a version where nobody said of which compiler.
-- grain: run_id, relative_path
WITH known AS (
    SELECT
        o.run_id,
        o.relative_path,
        r.compiler IS NOT NULL AS is_compiler_said,
        CASE WHEN o.compile_target IN ('cpu', 'tpu') THEN o.compile_target ELSE 'gpu' END AS platform,
        COALESCE(r.compiler, CASE WHEN o.compile_target = 'tpu' THEN 'libtpu' END) AS compiler,
        regexp_extract(r.compiler_version, '^([0-9]{1,6})[.][0-9]{1,3}[.][0-9]{1,3}([.](post)?[0-9]+)?$', 1) AS major,
        TRY_CAST(split_part(r.compiler_version, '.', 2) AS BIGINT) AS minor,
        TRY_CAST(split_part(r.compiler_version, '.', 3) AS BIGINT) AS patch,
        CASE WHEN o.compile_target = 'tpu' THEN TRY_CAST(o.compiler_revision AS BIGINT) END AS revision
    FROM staging.observations AS o
    INNER JOIN staging.runs AS r ON o.run_id = r.run_id
    WHERE o.compile_target IS NOT NULL
)

SELECT
    k.run_id,  -- The run.
    k.relative_path,  -- The file.
    k.platform,  -- cpu, gpu or tpu.
    CASE WHEN l.revision IS NOT NULL THEN 'libtpu' ELSE k.compiler END
        AS compiler,  -- What embeds XLA there: jaxlib or libtpu, say; null where nobody said.
    COALESCE(
        l.version,
        CASE WHEN k.is_compiler_said THEN TRY_CAST(k.major AS BIGINT) * 1000000 + k.minor * 1000 + k.patch END
    ) AS version,  -- Its version; null without a number.
    k.revision,  -- CL number of libtpu; null elsewhere.
    l.release_text  -- The release of libtpu with that number; null where it is none that is known.
FROM known AS k
LEFT JOIN intermediate.libtpu_releases AS l ON k.revision = l.revision
