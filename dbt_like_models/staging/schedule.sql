-- The order in which instructions run, with their names.
-- grain: dump_id, schedule_position
SELECT
    s.dump_id,  -- The dump.
    s.schedule_position,  -- Line of the schedule.
    s.instruction_id,  -- Instruction that runs there.
    i.instruction_name  -- Its name.
FROM raw.schedule AS s
INNER JOIN raw.instructions AS i ON s.dump_id = i.dump_id AND s.instruction_id = i.instruction_id
