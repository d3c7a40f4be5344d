-- Instructions: every name that is mentioned anywhere in a dump.
-- grain: dump_id, instruction_id
SELECT
    dump_id,  -- The dump.
    instruction_id,  -- Number of the instruction in its dump.
    instruction_name,  -- Its name.
    schedule_position  -- Its line in the schedule; null outside it.
FROM raw.instructions
