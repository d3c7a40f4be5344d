-- What does `compiled.memory_analysis()` report for a program, by which rule, and what must not be compared across runs?
-- topic: Capacity
-- param: program = '%'  pattern of program names
-- param: run = null  name of a run, latest or previous; null for all runs
-- param: rows = 20  rows at most
SELECT
    run_name,
    program_name,
    dump_id,
    argument_bytes,
    output_bytes,
    alias_bytes,
    temp_bytes,
    temp_rule,
    peak_bytes,
    peak_relation,
    static_peak_bytes,
    footprint_bytes,
    changed_meaning,
    is_temp_guessed
FROM marts.official_figures_v2
WHERE program_name LIKE $program AND ($run IS NULL OR run_name = $run)
ORDER BY footprint_bytes DESC, program_name, run_name, relative_path
LIMIT $rows
