-- All positions of the schedule at which the occupied peak of a memory space is reached.
-- grain: dump_id, memory_space, schedule_position
-- parameters: dump_ids (the dumps)
SELECT
    t.dump_id,  -- The dump.
    t.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    t.schedule_position  -- A position with as much occupied as at the peak.
FROM marts.memory_timeline_v1 AS t
INNER JOIN marts.peak_memory_v1 AS p ON t.dump_id = p.dump_id AND t.memory_space = p.memory_space
WHERE
    t.dump_id IN ($dump_ids) AND p.dump_id IN ($dump_ids)
    AND t.occupied_bytes = p.occupied_peak_bytes AND p.occupied_peak_bytes > 0
ORDER BY t.dump_id, t.memory_space, t.schedule_position
