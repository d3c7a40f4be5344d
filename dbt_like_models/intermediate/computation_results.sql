-- Values that stand at the root of a called computation, the line before their end, and are handed to its caller.
-- grain: dump_id, value_id
SELECT DISTINCT
    s.dump_id,  -- The dump.
    s.value_id  -- The value.
FROM intermediate.slots AS s
INNER JOIN staging.positions AS p ON s.dump_id = p.dump_id AND s.value_id = p.value_id
INNER JOIN staging.instructions AS i ON p.dump_id = i.dump_id AND p.instruction_id = i.instruction_id
WHERE i.schedule_position = s.end_position - 1
