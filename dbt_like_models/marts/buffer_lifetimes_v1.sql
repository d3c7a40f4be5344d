-- How long values live, when they are used, and how long they are kept after that. Values with a live range only.
-- A value that shares its slot with others of an alias set is kept alive by their uses, too: its own come earlier. A value
-- that a loop or another user goes on with has uses behind its own end.
-- grain: dump_id, value_id
-- portable: yes
WITH own_uses AS (
    SELECT
        dump_id,
        value_id,
        COUNT(*) AS use_count,
        MIN(schedule_position) AS first_use_position,
        MAX(schedule_position) AS last_use_position
    FROM staging.uses
    GROUP BY dump_id, value_id
)

SELECT
    s.dump_id,  -- The dump.
    s.value_id,  -- The value.
    s.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    s.allocation_index,  -- Allocation that holds it.
    s.kind,  -- parameter, output, constant or temp.
    v.instruction_name,  -- Instruction that defines it.
    v.shape_index,  -- Which part of the instruction's result; null = not printed.
    v.shape_text,  -- Shape as printed.
    s.size_bytes,  -- Its slot, in bytes.
    s.start_position,  -- Birth: first position alive.
    s.end_position,  -- Death: last position alive, included.
    CAST(COALESCE(u.use_count, 0) AS BIGINT) AS use_count,  -- Uses as printed.
    u.first_use_position,  -- First position at which it is used; null without uses in the schedule.
    u.last_use_position,  -- Last position at which it is used; it may be behind the end, as the first may be.
    s.end_position - s.start_position + 1 AS live_position_count,  -- Positions at which it is alive.
    CAST(s.size_bytes AS DOUBLE) * (s.end_position - s.start_position + 1)
        AS byte_steps,  -- Its slot times these positions: what freeing it earlier is worth.
    s.end_position - u.last_use_position AS idle_position_count  -- Positions it is kept after its last use; below 0 where that is behind its end.
FROM intermediate.slots AS s
INNER JOIN staging.hlo_values AS v ON s.dump_id = v.dump_id AND s.value_id = v.value_id
LEFT JOIN own_uses AS u ON s.dump_id = u.dump_id AND s.value_id = u.value_id
