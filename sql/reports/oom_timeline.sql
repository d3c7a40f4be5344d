-- The occupied bytes of a memory space at each position of a schedule.
-- grain: schedule_position
-- parameters: dump_id, memory_space
SELECT
    schedule_position,  -- Position in the schedule.
    occupied_bytes  -- Bytes in the union of the slots alive there.
FROM marts.memory_timeline_v1
WHERE dump_id = $dump_id AND memory_space = $memory_space
ORDER BY schedule_position
