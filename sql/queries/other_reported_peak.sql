-- Where is the peak that XLA prints not the position with the most listed bytes, and by how much?
-- topic: Peaks
-- needs: live ranges
-- param: rows = 20  rows at most
WITH peaks AS (
    SELECT
        dump_id,
        MAX(dump_reported_peak_position) AS dump_reported_peak_position,
        MAX(dump_reported_peak_bytes) AS dump_reported_peak_bytes,
        MAX(dump_listed_peak_position) AS dump_listed_peak_position,
        MAX(dump_listed_peak_bytes) AS dump_listed_peak_bytes
    FROM marts.peak_memory_v1
    WHERE has_other_reported_peak
    GROUP BY dump_id
),

-- What is printed there are, before jaxlib 0.6.0, the bytes of whole instructions: no difference is taken from them.
at_reported AS (
    SELECT p.dump_id, SUM(v.logical_bytes) AS listed_bytes
    FROM peaks AS p
    INNER JOIN staging.hlo_values AS v ON p.dump_id = v.dump_id
    INNER JOIN staging.allocations AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
    WHERE p.dump_reported_peak_position BETWEEN v.start_position AND v.end_position AND NOT a.is_thread_local
    GROUP BY p.dump_id
)

SELECT
    o.program_name,
    o.run_name,
    p.dump_id,
    p.dump_reported_peak_position,
    p.dump_reported_peak_bytes,
    p.dump_listed_peak_position,
    p.dump_listed_peak_bytes,
    CAST(p.dump_listed_peak_bytes - a.listed_bytes AS BIGINT) AS difference_bytes, -- to listed_at_reported_peak_bytes
    CAST(a.listed_bytes AS BIGINT) AS listed_at_reported_peak_bytes
FROM peaks AS p
INNER JOIN at_reported AS a ON p.dump_id = a.dump_id
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name, MAX(run_name) AS run_name
    FROM marts.observations_v1
    GROUP BY dump_id
) AS o ON p.dump_id = o.dump_id
ORDER BY difference_bytes DESC, o.program_name, p.dump_id
LIMIT $rows
