-- By which rules the compiler of a dump makes the figures of `compiled.memory_analysis()`, as far as the warehouse
-- knows the compiler. The file name says for which platform: a TPU job leaves dumps of its CPU modules as well, and
-- their compiler is not the run's. Only libtpu writes revisions into file names.
-- grain: run_id, relative_path
WITH known AS (
    SELECT
        o.run_id,
        o.relative_path,
        CASE WHEN o.compile_target IN ('cpu', 'tpu') THEN o.compile_target ELSE 'gpu' END AS platform,
        COALESCE(r.compiler, CASE WHEN o.compile_target = 'tpu' THEN 'libtpu' END) AS compiler,
        regexp_extract(r.compiler_version, '^([0-9]{1,6})[.][0-9]{1,3}[.][0-9]{1,3}([.](post)?[0-9]+)?$', 1) AS major,
        TRY_CAST(split_part(r.compiler_version, '.', 2) AS BIGINT) AS minor,
        TRY_CAST(split_part(r.compiler_version, '.', 3) AS BIGINT) AS patch,
        CASE WHEN o.compile_target = 'tpu' THEN TRY_CAST(o.compiler_revision AS BIGINT) END AS revision
    FROM staging.observations AS o
    INNER JOIN staging.runs AS r ON o.run_id = r.run_id
    WHERE o.compile_target IS NOT NULL
),

numbered AS (  -- A pre-release may stand on either side of a change: it has no number.
    SELECT *, TRY_CAST(major AS BIGINT) * 1000000 + minor * 1000 + patch AS version
    FROM known
),

ruled AS (
    SELECT
        n.run_id,
        n.relative_path,
        u.figure,
        u.rule,
        CASE
            WHEN n.revision IS NULL THEN n.version BETWEEN u.compared_from_version AND u.compared_to_version
            ELSE n.revision <= u.compared_to_revision
        END AS is_compared
    FROM numbered AS n
    INNER JOIN intermediate.official_rules AS u
        ON n.platform = u.platform AND n.compiler = u.compiler
        AND CASE
            WHEN n.revision IS NULL
                THEN n.version >= u.from_version AND (u.below_version IS NULL OR n.version < u.below_version)
            ELSE
                n.revision >= u.from_revision AND (u.below_revision IS NULL OR n.revision < u.below_revision)
        END
)

SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    MAX(CASE WHEN figure = 'sizes' THEN rule END) AS sizes_rule,  -- Rule of argument, output and alias; null: unknown.
    MAX(CASE WHEN figure = 'temp' THEN rule END) AS temp_rule,  -- Rule of temp; null: unknown.
    MAX(CASE WHEN figure = 'peak' THEN rule END) AS peak_rule,  -- Rule of peak_memory; null: unknown.
    BOOL_AND(COALESCE(is_compared, FALSE)) AS is_compared  -- Whether each was compared with a release as new as this.
FROM ruled
GROUP BY run_id, relative_path
