-- How did the figures of `compiled.memory_analysis()` change from run to run, where they mean the same?
-- topic: Changes
-- param: program = 'jit_while_simple'  pattern of program names
-- param: rows = 50  rows at most
WITH largest AS (
    SELECT
        f.*,
        r.run_order,
        r.device_kind,
        ROW_NUMBER() OVER (
            PARTITION BY f.run_id, f.program_id, f.compile_target ORDER BY f.footprint_bytes DESC, f.relative_path
        ) AS place
    FROM marts.official_figures_v2 AS f
    INNER JOIN marts.runs_v2 AS r ON f.run_id = r.run_id
    WHERE f.program_name LIKE $program
),

in_order AS (
    SELECT
        *,
        LAG(sizes_rule) OVER series AS previous_sizes_rule,
        LAG(temp_bytes) OVER series AS previous_temp_bytes,
        LAG(temp_rule) OVER series AS previous_temp_rule,
        LAG(peak_bytes) OVER series AS previous_peak_bytes,
        LAG(peak_rule) OVER series AS previous_peak_rule
    FROM largest
    WHERE place = 1
    WINDOW series AS (PARTITION BY program_id, compile_target, platform, track, device_kind ORDER BY run_order)
)

SELECT
    program_name,
    compile_target,
    run_name,
    temp_rule,
    temp_bytes,
    CASE WHEN temp_rule = previous_temp_rule THEN temp_bytes - previous_temp_bytes END AS temp_change_bytes,
    peak_rule,
    peak_bytes,
    CASE WHEN peak_rule = previous_peak_rule THEN peak_bytes - previous_peak_bytes END AS peak_change_bytes,
    NULLIF(CONCAT_WS(
        '; ',
        CASE
            WHEN sizes_rule <> previous_sizes_rule
            THEN 'argument, output, alias: was ' || previous_sizes_rule || ', is ' || sizes_rule
        END,
        CASE WHEN temp_rule <> previous_temp_rule THEN 'temp: was ' || previous_temp_rule || ', is ' || temp_rule END,
        CASE WHEN peak_rule <> previous_peak_rule THEN 'peak: was ' || previous_peak_rule || ', is ' || peak_rule END
    ), '') AS changed_meaning,
    is_temp_guessed
FROM in_order
ORDER BY program_name, program_id, compile_target, platform, track, device_kind, run_order
LIMIT $rows
