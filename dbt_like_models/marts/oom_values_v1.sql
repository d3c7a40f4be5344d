-- What takes the memory that did not suffice, by message. Of a message about the default memory space: the values at the
-- occupied peak of its dump, and of each allocation the bytes that they leave. The rows with is_in_figure sum to the main
-- figure where a rule of sums reproduces it: of T1 and T2 once their temporaries are rounded up to 16 KiB. Of a message about another memory space, whose kernels a dump does not show:
-- what the message itself lists.
-- grain: run_id, message_id, part, ordinal
-- portable: no, because a message is joined to the dump that has its words by functions of texts of DuckDB
WITH parts AS (
    SELECT run_id, message_id, part, ordinal, allocation_index, value_id, kind, NULL AS instruction_name, shape_text,
        owned_bytes, size_bytes, layout_padding_bytes, NULL AS op_name, NULL AS tag, dump_id, is_in_figure, is_explained
    FROM intermediate.oom_peak_values
    UNION ALL
    SELECT run_id, message_id, 'listed by the message', ordinal, allocation_index, value_id, NULL, instruction_name,
        shape_text, nominal_bytes, nominal_bytes, NULL, op_name, tag, dump_id, FALSE, is_explained
    FROM intermediate.oom_listed_values
)

SELECT
    p.run_id,  -- The run.
    r.run_name,  -- Its name.
    p.message_id,  -- What the message says; see marts.oom.
    p.dump_id,  -- The dump that it is about.
    p.part,  -- value (at the occupied peak), not taken at the peak (of an allocation), or listed by the message.
    CAST(p.ordinal AS BIGINT) AS ordinal,  -- Place in its part, from 0: values from the largest owner on.
    p.allocation_index,  -- Allocation that holds it.
    p.value_id,  -- The value; null for what no value takes at the peak.
    p.kind,  -- parameter, output, constant, temp or thread-local.
    COALESCE(p.instruction_name, v.instruction_name) AS instruction_name,  -- Instruction that defines it.
    CASE WHEN p.kind IS NULL THEN p.shape_text ELSE COALESCE(v.shape_text, p.shape_text) END AS shape_text,  -- Its shape.
    CAST(p.owned_bytes AS BIGINT) AS owned_bytes,  -- Bytes that count for it; each byte has one owner.
    p.size_bytes,  -- Its slot, or the allocation.
    p.layout_padding_bytes,  -- Of the owned bytes: what tiles add.
    CASE WHEN p.value_id IS NULL THEN p.op_name ELSE t.op_name END AS op_name,  -- Name of the framework operation.
    t.source_file,  -- Source file of the user's program.
    t.source_line,  -- Line in it.
    v.start_position,  -- First position alive.
    v.end_position,  -- Last position alive, included.
    p.tag,  -- What an allocation that the message lists is for.
    p.is_in_figure,  -- The main figure of the message counts it.
    p.is_explained  -- As in marts.oom: where it is not, the dump may be another program's.
FROM parts AS p
INNER JOIN staging.runs AS r ON p.run_id = r.run_id
LEFT JOIN staging.hlo_values AS v ON p.dump_id = v.dump_id AND p.value_id = v.value_id
LEFT JOIN staging.instruction_texts AS t
    ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
