-- Who fills the occupied peak of each memory space of some dumps, the largest owners first.
-- grain: dump_id, value_id
-- parameters: dump_ids, owners (how many per memory space)
WITH ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY dump_id, memory_space ORDER BY owned_bytes DESC, value_id ASC) AS owner_rank
    FROM marts.peak_buffers_v1
    WHERE dump_id IN ($dump_ids)
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    owner_rank,  -- Place among the owners, from 1.
    value_id,  -- The value.
    instruction_name || COALESCE(NULLIF(shape_index, '{}'), '') AS value_name,  -- Instruction and part of its result.
    opcode,  -- Operation of the instruction.
    shape_text,  -- Shape as printed.
    owned_bytes,  -- Bytes of the peak that count for this value.
    peak_share,  -- Share of the peak, 0 to 1.
    size_bytes,  -- Its slot, in bytes.
    layout_padding_bytes,  -- Of the owned: what tiles add.
    slack_bytes,  -- Of the owned: alias sets, alignment.
    start_position,  -- First position alive.
    end_position,  -- Last position alive, included.
    kind,  -- parameter, output, constant or temp.
    allocation_index,  -- Allocation that holds it.
    op_name,  -- Name of the framework operation.
    source_file || COALESCE(':' || source_line, '') AS source_place  -- File and line of the user's program.
FROM ranked
WHERE owner_rank <= $owners
ORDER BY dump_id ASC, memory_space ASC, owner_rank ASC
