-- Which arenas of temporaries are larger than the bytes ever alive in them, and why?
-- topic: Capacity
-- needs: live ranges
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    f.dump_id,
    f.allocation_index,
    f.memory_space,
    f.size_bytes,
    f.occupied_peak_bytes,
    f.gap_bytes,
    f.stride_bytes,
    f.unused_bytes,
    b.other_moments_bytes,
    b.without_live_range_bytes
FROM marts.fragmentation_v1 AS f
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name FROM marts.observations_v1 GROUP BY dump_id
) AS o ON f.dump_id = o.dump_id
INNER JOIN marts.allocation_balance_v1 AS b ON f.dump_id = b.dump_id AND f.allocation_index = b.allocation_index
WHERE f.gap_bytes > 0
ORDER BY f.gap_bytes DESC, o.program_name, f.dump_id, f.allocation_index
LIMIT $rows
