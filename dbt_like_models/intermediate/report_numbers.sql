-- The totals that the memory-usage report beside a dump prints, by the rule of its compiler. The report itself is not read, so
-- there is nothing to compare these numbers with; users may look into the file.
-- grain: run_id, relative_path, number_name, memory_space
WITH computed AS (
    SELECT
        dump_id,
        'report_total' AS figure,
        'Total bytes used' AS number_name,
        CAST(NULL AS BIGINT) AS memory_space,
        CAST(SUM(size_bytes) AS BIGINT) AS allocated_bytes
    FROM staging.allocation_sizes
    GROUP BY dump_id
    UNION ALL
    SELECT dump_id, 'report_space', 'Total bytes', memory_space, CAST(SUM(size_bytes) AS BIGINT)
    FROM staging.allocation_sizes
    GROUP BY dump_id, memory_space
)

SELECT
    o.run_id,  -- The run.
    o.relative_path,  -- The file.
    c.dump_id,  -- Its content.
    CAST(CASE c.figure WHEN 'report_total' THEN 30 ELSE 31 END AS BIGINT) AS number_order,  -- Its place among the numbers.
    'memory-usage report' AS said_by,  -- Who says it.
    c.number_name,  -- What it is called there: of the first form, and of the second.
    c.memory_space,  -- The memory space that it is of; null for all.
    COALESCE(r.rule, 'unknown') AS rule,  -- The rule of its compiler.
    r.since_text,  -- First version that is known to follow it.
    r.below_text,  -- First version that is not.
    COALESCE(r.is_compared, FALSE) AS is_compared,  -- Whether it was compared with reports of a release as new as this one.
    CASE WHEN r.rule IN ('all_allocations', 'allocations_of_space') THEN c.allocated_bytes END AS computed_bytes,  -- What the rule gives.
    CASE
        WHEN r.rule IS NULL THEN 'unknown'
        WHEN r.rule = 'not_written' THEN 'not reported'
        ELSE 'not stored'
    END AS verdict,  -- Whether there is a number, and what is known of it.
    CASE
        WHEN r.rule IN ('all_allocations', 'allocations_of_space') THEN 'the report beside the dump is not read'
    END AS why_text  -- Why nothing stands against it.
FROM staging.observations AS o
INNER JOIN computed AS c ON o.dump_id = c.dump_id
LEFT JOIN intermediate.number_rules AS r
    ON o.run_id = r.run_id AND o.relative_path = r.relative_path AND c.figure = r.figure
LEFT JOIN intermediate.number_rules AS w
    ON o.run_id = w.run_id AND o.relative_path = w.relative_path
    AND w.figure IN ('report_total', 'report_space') AND w.rule <> 'not_written'
-- A compiler writes one form; if it writes none, or the form is unknown, one row says so.
WHERE CASE WHEN w.figure IS NULL THEN c.figure = 'report_total' ELSE c.figure = w.figure END
