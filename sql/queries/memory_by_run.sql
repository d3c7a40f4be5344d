-- How large is the largest program of each run, in each memory space?
-- topic: Peaks
SELECT
    run_name,
    platform,
    memory_space,
    program_count,
    largest_reserved_bytes,
    largest_occupied_peak_bytes,
    median_occupied_peak_bytes
FROM marts.fleet_summary_v1
ORDER BY started_at, run_name, platform, memory_space
