-- What a message about another memory space lists, or names, of its kernel; with the largest value of the dump by its
-- instruction.
-- grain: run_id, message_id, ordinal
WITH listed AS (
    SELECT
        j.run_id,
        j.message_id,
        j.dump_id,
        j.is_explained,
        COALESCE(l.ordinal, 0) AS ordinal,
        COALESCE(l.instruction_name, j.instruction_name) AS instruction_name,
        COALESCE(l.shape_text, j.shape_text) AS shape_text,
        COALESCE(l.nominal_bytes, s.nominal_bytes, z.nominal_bytes) AS nominal_bytes,
        COALESCE(l.tag, j.tag) AS tag,
        l.op_name
    FROM intermediate.oom_subjects AS j
    LEFT JOIN staging.oom_allocations AS l
        ON j.run_id = l.run_id AND j.relative_path = l.relative_path AND j.message_number = l.message_number
    LEFT JOIN staging.oom_figures AS s
        ON j.run_id = s.run_id AND j.relative_path = s.relative_path AND j.message_number = s.message_number
        AND s.figure_name = 'allocation'
    LEFT JOIN staging.oom_figures AS z
        ON j.run_id = z.run_id AND j.relative_path = z.relative_path AND j.message_number = z.message_number
        AND z.figure_name = 'scoped_size'
    WHERE NOT j.is_of_default
),

known AS (
    SELECT
        l.*,
        v.allocation_index,
        v.value_id,
        ROW_NUMBER() OVER (
            PARTITION BY l.run_id, l.message_id, l.ordinal ORDER BY v.size_bytes DESC, v.value_id
        ) AS choice
    FROM listed AS l
    LEFT JOIN staging.hlo_values AS v ON l.dump_id = v.dump_id AND l.instruction_name = v.instruction_name
)

SELECT
    run_id,  -- The run.
    message_id,  -- The message.
    ordinal,  -- Place in the listing, from 0.
    instruction_name,  -- Instruction that it is of.
    shape_text,  -- Its shape.
    nominal_bytes,  -- Bytes that its printed size names.
    tag,  -- What it is for.
    op_name,  -- Name of the framework operation, as the message says it.
    allocation_index,  -- Allocation of the instruction's value in the dump.
    value_id,  -- That value; null where the dump has none.
    dump_id,  -- The dump.
    is_explained  -- The message names its module, or it explains the message.
FROM known
WHERE choice = 1
