-- The runs that a word may mean: the one that is called so, else those whose names begin with it; the newest first.
-- grain: run_id
-- parameters: word (a name, or the beginning of one; '' is the beginning of all)
WITH matches AS (
    SELECT
        *,
        run_name = $word AS is_exact
    FROM marts.runs_v1
    WHERE starts_with(run_name, $word)
)

SELECT
    run_id,  -- The run.
    run_name,  -- Its name.
    run_order,  -- Its place among all runs, from 1.
    started_at,  -- When it started (UTC).
    dump_count,  -- Dumps seen, repeats counted each time.
    reject_count  -- Refused and not taken since.
FROM matches
WHERE is_exact OR NOT (SELECT BOOL_OR(is_exact) FROM matches)
ORDER BY run_order DESC
