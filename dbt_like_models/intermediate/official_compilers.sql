-- By which rules the compiler of a dump makes the figures of `compiled.memory_analysis()`, as far as the warehouse
-- knows the compiler.
-- grain: run_id, relative_path
SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    MAX(CASE WHEN figure = 'sizes' THEN rule END) AS sizes_rule,  -- Rule of argument, output and alias; null: unknown.
    MAX(CASE WHEN figure = 'temp' THEN rule END) AS temp_rule,  -- Rule of temp; null: unknown.
    MAX(CASE WHEN figure = 'peak' THEN rule END) AS peak_rule,  -- Rule of peak_memory; null: unknown.
    BOOL_AND(is_compared) AS is_compared  -- Whether each was compared with a release as new as this.
FROM intermediate.number_rules
WHERE figure IN ('sizes', 'temp', 'peak')
GROUP BY run_id, relative_path
