-- The dumps that messages say did not fit, with the capacity of the default memory space where one prints it.
-- grain: run_id, dump_id
SELECT
    j.run_id,  -- The run.
    j.dump_id,  -- The dump.
    MAX(CASE WHEN m.memory_space_name = 'hbm' THEN m.capacity_bytes END) AS capacity_bytes  -- Bytes of the default memory space that a program may take.
FROM intermediate.oom_joined AS j
INNER JOIN intermediate.oom_messages AS m ON j.run_id = m.run_id AND j.message_id = m.message_id
WHERE j.is_explained AND m.is_failure
GROUP BY j.run_id, j.dump_id
