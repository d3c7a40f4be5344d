-- The failures whose dump is known, with the parts of the dump that their main figure sums.
-- grain: run_id, message_id
SELECT
    m.run_id,  -- The run.
    m.message_id,  -- The message.
    m.relative_path,  -- The first log that says it.
    m.message_number,  -- Its number there.
    m.instruction_name,  -- Instruction that it names.
    m.shape_text,  -- Shape that it names.
    m.tag,  -- What the allocation that did not fit is for.
    j.dump_id,  -- The dump.
    j.is_explained,  -- The message names the module of the dump, or the dump explains it.
    COALESCE(m.memory_space_name, 'hbm') = 'hbm' AS is_of_default,  -- It is about the default memory space.
    COALESCE(r.is_of_parameters, FALSE) AS is_of_parameters,  -- The figure counts parameters.
    COALESCE(r.is_of_temporaries, FALSE) AS is_of_temporaries,  -- It counts temporaries.
    COALESCE(r.is_of_outputs, FALSE) AS is_of_outputs,  -- It counts outputs.
    COALESCE(r.is_of_constants, FALSE) AS is_of_constants  -- It counts constants.
FROM intermediate.oom_messages AS m
INNER JOIN intermediate.oom_joined AS j ON m.run_id = j.run_id AND m.message_id = j.message_id
LEFT JOIN intermediate.oom_ruled_figures AS r
    ON m.run_id = r.run_id AND m.message_id = r.message_id AND r.figure_name = 'used' AND j.is_sum
WHERE m.is_failure AND j.dump_id IS NOT NULL
