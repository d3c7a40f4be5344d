-- Which release or run changed memory: how many programs grew, shrank or stayed since their previous run?
-- topic: Changes
-- param: memory_space = 0  memory space
SELECT
    run_name,
    compiler,
    compiler_version,
    platform,
    CAST(COUNT(*) FILTER (WHERE run_number = 1) AS BIGINT) AS first_seen_count,
    CAST(COUNT(*) FILTER (WHERE reserved_change_bytes > 0) AS BIGINT) AS grown_count,
    CAST(COUNT(*) FILTER (WHERE reserved_change_bytes < 0) AS BIGINT) AS shrunk_count,
    CAST(COUNT(*) FILTER (WHERE reserved_change_bytes = 0) AS BIGINT) AS same_count,
    MAX(reserved_change_bytes) AS largest_growth_bytes,
    MIN(reserved_change_bytes) AS largest_decline_bytes
FROM marts.memory_space_trend_v2
WHERE memory_space = $memory_space
GROUP BY run_name, compiler, compiler_version, platform, started_at
ORDER BY started_at, run_name, platform
