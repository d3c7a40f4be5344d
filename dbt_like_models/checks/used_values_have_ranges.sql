-- A used value has a live range unless its allocation is thread-local or constant (HloLiveRange::ToString), or its
-- computation has no schedule: then its instruction has no position in the schedule.
-- severity: warn
SELECT
    v.dump_id,  -- The dump.
    'a live range of value ' || CAST(v.value_id AS VARCHAR) AS expected,  -- The value.
    'none of ' || i.instruction_name || COALESCE(v.shape_index, '{}') AS found  -- What the range would be called.
FROM staging.value_slots AS v
INNER JOIN raw.dumps AS d ON v.dump_id = d.dump_id
INNER JOIN raw.allocations AS a ON v.dump_id = a.dump_id AND v.allocation_index = a.allocation_index
INNER JOIN raw.instructions AS i ON v.dump_id = i.dump_id AND v.instruction_id = i.instruction_id
WHERE
    v.start_position IS NULL
    AND d.live_range_state IN ('present', 'unbounded')
    AND i.schedule_position IS NOT NULL
    AND NOT a.is_thread_local
    AND NOT a.is_constant
