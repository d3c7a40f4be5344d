-- One run per memory space. Peaks of programs are never added up: the mart has the largest and percentiles.
-- grain: run_id, memory_space, platform
-- portable: yes
SELECT
    s.run_id,  -- The run.
    r.run_name,  -- Its name.
    r.started_at,  -- When it started (UTC).
    s.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    s.platform,  -- cpu, gpu or tpu.
    CAST(COUNT(DISTINCT s.program_id) AS BIGINT) AS program_count,  -- Programs with an allocation in this space.
    CAST(SUM(s.dump_count) AS BIGINT) AS dump_count,  -- Files of these programs.
    CAST(SUM(s.variant_count) AS BIGINT) AS variant_count,  -- Different contents of each program, summed.
    MAX(s.reserved_bytes) AS largest_reserved_bytes,  -- Reserved bytes of the largest program.
    CAST(PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY s.reserved_bytes) AS BIGINT)
        AS median_reserved_bytes,  -- Median over programs.
    CAST(PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY s.reserved_bytes) AS BIGINT)
        AS p90_reserved_bytes,  -- 90th percentile over programs.
    MAX(s.occupied_peak_bytes) AS largest_occupied_peak_bytes,  -- Occupied peak of the program with the highest.
    CAST(PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY s.occupied_peak_bytes) AS BIGINT)
        AS median_occupied_peak_bytes,  -- Median over programs.
    CAST(PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY s.occupied_peak_bytes) AS BIGINT)
        AS p90_occupied_peak_bytes,  -- 90th percentile over programs.
    MAX(s.layout_padding_bytes) AS largest_layout_padding_bytes,  -- Most layout padding alive at a program's peak.
    CAST(
        COUNT(CASE WHEN s.layout_padding_bytes > 0 THEN 1 END) AS BIGINT
    ) AS padded_program_count  -- Programs with layout padding alive at their peak.
FROM intermediate.series_runs AS s
INNER JOIN staging.runs AS r ON s.run_id = r.run_id
GROUP BY s.run_id, r.run_name, r.started_at, s.memory_space, s.platform
