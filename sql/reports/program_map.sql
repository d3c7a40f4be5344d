-- The values of the allocation maps of some dumps, those with the largest area first: bytes of the slot times positions alive.
-- grain: dump_id, value_id
-- parameters: dump_ids, values (how many at most of each)
WITH ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id
            ORDER BY CAST(size_bytes AS DOUBLE) * (end_position - start_position + 1) DESC, value_id ASC
        ) AS area_rank
    FROM marts.allocation_map_v1
    WHERE dump_id IN ($dump_ids)
)

SELECT
    dump_id,  -- The dump.
    value_id,  -- The value.
    allocation_index,  -- Allocation that holds it.
    offset_bytes,  -- Where its slot begins in the allocation.
    size_bytes,  -- Its slot, in bytes.
    start_position,  -- First position alive.
    end_position,  -- Last position alive, included.
    instruction_name,  -- Instruction that defines it.
    shape_index,  -- Which part of the instruction's result; null = not printed.
    shape_text,  -- Shape as printed.
    element_type,  -- Element type; null for a tuple.
    opcode,  -- Operation of the instruction.
    op_name,  -- Name of the framework operation.
    source_file,  -- Source file of the user's program.
    source_line,  -- Line in it.
    element_bytes,  -- Of the slot: elements.
    layout_padding_bytes,  -- Of the slot: what tiles add.
    slack_bytes,  -- Of the slot: alias sets, alignment.
    tuple_table_bytes  -- Of the slot: the pointer table of a tuple.
FROM ranked
WHERE area_rank <= $values
ORDER BY dump_id, area_rank
