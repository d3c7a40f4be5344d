-- A content is loaded once, however many files and workers have seen it: a sum over its rows would count it twice.
-- severity: error
SELECT
    dump_id,  -- The dump.
    'one load' AS expected,  -- Who brings a content brings all of its rows.
    'loads ' || STRING_AGG(CAST(load_id AS VARCHAR), ', ' ORDER BY load_id) AS found  -- Those that brought it.
FROM raw.dumps
GROUP BY dump_id
HAVING COUNT(*) > 1
