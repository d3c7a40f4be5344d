-- The moments for which owners of bytes are computed: the peak of a memory space, and that of an allocation.
-- grain: dump_id, allocation_index, moment
SELECT
    a.dump_id,  -- The dump.
    a.allocation_index,  -- The allocation.
    'memory space peak' AS moment,  -- Whose peak it is: memory space peak or allocation peak.
    p.occupied_peak_position AS position_in_schedule  -- First position of that peak.
-- Allocations that only ever hold empty values have no peak of their own, but may be alive at that of the space.
FROM staging.allocation_sizes AS a
INNER JOIN intermediate.peaks AS p ON a.dump_id = p.dump_id AND a.memory_space = p.memory_space
WHERE p.occupied_peak_position IS NOT NULL
UNION ALL
SELECT
    dump_id,
    allocation_index,
    'allocation peak' AS moment,
    occupied_peak_position AS position_in_schedule
FROM intermediate.allocation_peaks
