-- What share of the fleet each figure covers. A figure leaves out the dumps and runs that do not have what it needs.
-- grain: figure
WITH peaks AS (
    SELECT
        dump_id,
        MAX(reserved_bytes) AS reserved_bytes,
        MAX(occupied_peak_bytes) AS occupied_peak_bytes,
        MAX(dump_reported_peak_bytes) AS reported_peak_bytes
    FROM marts.peak_memory_v1
    GROUP BY dump_id
),

contents AS (
    SELECT o.dump_id, p.reserved_bytes, p.occupied_peak_bytes, p.reported_peak_bytes
    FROM (SELECT DISTINCT dump_id FROM marts.observations_v1) AS o
    LEFT JOIN peaks AS p ON o.dump_id = p.dump_id
),

named AS (
    SELECT dump_id, MAX(op_name) AS op_name, MAX(source_file) AS source_file
    FROM marts.padding_by_source_v1
    GROUP BY dump_id
),

counted AS (
    SELECT
        1 AS place, 'reserved bytes, footprint' AS figure, 'contents' AS things,
        COUNT(reserved_bytes) AS covered_count, COUNT(*) AS total_count, 'allocations' AS needs
    FROM contents
    UNION ALL
    SELECT 2, 'occupied peak, padding at the peak', 'contents', COUNT(occupied_peak_bytes), COUNT(*), 'live ranges'
    FROM contents
    UNION ALL
    SELECT 3, 'the peak that XLA prints', 'contents', COUNT(reported_peak_bytes), COUNT(*), 'a peak in the dump'
    FROM contents
    UNION ALL
    SELECT 4, 'operations', 'contents', COUNT(n.op_name), COUNT(*), 'op_name in instruction texts'
    FROM contents LEFT JOIN named AS n USING (dump_id)
    UNION ALL
    SELECT
        5, 'source lines', 'contents', COUNT(n.source_file), COUNT(*),
        'source_file; since jaxlib 0.8.2 the module text beside the dump'
    FROM contents LEFT JOIN named AS n USING (dump_id)
    UNION ALL
    SELECT
        6, 'figures of memory_analysis()', 'dumps', COUNT(CASE WHEN sizes_rule <> 'unknown' THEN 1 END), COUNT(*),
        'a compiler whose rule is known'
    FROM marts.official_figures_v1
    UNION ALL
    SELECT 7, 'compiler', 'runs', COUNT(compiler_version), COUNT(*), 'compiler_version in run.json'
    FROM marts.runs_v1
    UNION ALL
    SELECT
        8, 'order of runs', 'runs', COUNT(CASE WHEN started_at_source IN ('given', 'run.json') THEN 1 END), COUNT(*),
        'started_at in run.json; else files say it'
    FROM marts.runs_v1
)

SELECT
    figure,  -- What is shown somewhere.
    things,  -- What is counted: contents, dumps or runs.
    CAST(covered_count AS BIGINT) AS covered_count,  -- Those that have it.
    CAST(total_count AS BIGINT) AS total_count,  -- All of them.
    covered_count / NULLIF(CAST(total_count AS DOUBLE), 0) AS covered_share,  -- 0 to 1; null for an empty warehouse.
    needs  -- What it takes.
FROM counted
ORDER BY place
