-- Where is the peak that XLA prints not the position with the most listed bytes, and by how much?
-- topic: Peaks
-- needs: live ranges
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    o.run_name,
    p.dump_id,
    p.dump_reported_peak_position,
    p.dump_reported_peak_bytes,
    p.dump_listed_peak_position,
    p.dump_listed_peak_bytes,
    p.dump_listed_peak_bytes - p.dump_reported_peak_bytes AS difference_bytes
FROM (
    SELECT
        dump_id,
        MAX(dump_reported_peak_position) AS dump_reported_peak_position,
        MAX(dump_reported_peak_bytes) AS dump_reported_peak_bytes,
        MAX(dump_listed_peak_position) AS dump_listed_peak_position,
        MAX(dump_listed_peak_bytes) AS dump_listed_peak_bytes
    FROM marts.peak_memory_v1
    WHERE has_other_reported_peak
    GROUP BY dump_id
) AS p
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name, MAX(run_name) AS run_name
    FROM marts.observations_v1
    GROUP BY dump_id
) AS o ON p.dump_id = o.dump_id
ORDER BY ABS(difference_bytes) DESC, o.program_name, p.dump_id
LIMIT $rows
