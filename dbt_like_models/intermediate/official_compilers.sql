-- By which rules the compiler of a dump makes the figures of `compiled.memory_analysis()`, as far as the warehouse
-- knows the compiler.
-- grain: run_id, relative_path
WITH ruled AS (
    SELECT
        n.run_id,
        n.relative_path,
        u.figure,
        u.rule,
        CASE
            WHEN n.revision IS NULL THEN n.version BETWEEN u.compared_from_version AND u.compared_to_version
            ELSE n.revision <= u.compared_to_revision
        END AS is_compared
    FROM intermediate.compiler_versions AS n
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
