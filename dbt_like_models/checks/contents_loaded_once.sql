-- A content is loaded once, however many files and workers have seen it: a sum over its rows would count it twice.
-- severity: error
WITH twice AS (
    SELECT dump_id FROM raw.dumps
    GROUP BY dump_id
    HAVING COUNT(*) > 1
)

SELECT
    d.dump_id,  -- The dump.
    'one load' AS expected,  -- One load brings a content with all of its rows.
    'loads ' || STRING_AGG(CAST(d.load_id AS VARCHAR), ', ' ORDER BY d.load_id) AS found  -- Those that brought it.
FROM raw.dumps AS d
INNER JOIN twice AS t ON d.dump_id = t.dump_id
GROUP BY d.dump_id
