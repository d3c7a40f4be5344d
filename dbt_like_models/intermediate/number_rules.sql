-- By which rule the compiler of each dump makes its official numbers, since when, and how far the rule was tested. A rule
-- without a row is unknown.
-- grain: run_id, relative_path, figure
WITH written AS (
    SELECT * FROM intermediate.official_rules
    UNION ALL
    SELECT * FROM intermediate.report_rules
)

SELECT
    v.run_id,  -- The run.
    v.relative_path,  -- The file.
    u.figure,  -- sizes, temp and peak of memory_analysis(); report_total and report_space of the memory-usage report.
    u.rule,  -- Name of the rule.
    u.compiler || ' '
    || CAST(u.from_version // 1000000 AS VARCHAR) || '.' || CAST(u.from_version // 1000 % 1000 AS VARCHAR) || '.'
    || CAST(u.from_version % 1000 AS VARCHAR) AS since_text,  -- First version that is known to follow it.
    u.compiler || ' '
    || CAST(u.below_version // 1000000 AS VARCHAR) || '.' || CAST(u.below_version // 1000 % 1000 AS VARCHAR) || '.'
    || CAST(u.below_version % 1000 AS VARCHAR) AS below_text,  -- First version that is not; null where none is known.
    COALESCE(
        CASE
            WHEN v.version IS NOT NULL THEN v.version BETWEEN u.compared_from_version AND u.compared_to_version
            ELSE v.revision <= u.compared_to_revision
        END, FALSE
    ) AS is_compared  -- Whether it was compared with the compiler's own number in a release as new as this one.
FROM intermediate.compiler_versions AS v
INNER JOIN written AS u
    ON v.platform = u.platform AND v.compiler = u.compiler
    -- A revision without a release is taken for one of the main branch, where the numbers grow.
    AND CASE
        WHEN v.version IS NOT NULL
            THEN v.version >= u.from_version AND (u.below_version IS NULL OR v.version < u.below_version)
        ELSE
            v.revision >= u.from_revision AND (u.below_revision IS NULL OR v.revision < u.below_revision)
    END
