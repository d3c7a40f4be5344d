-- What keeps the largest values at the occupied peak of each memory space of a dump alive. One dump: DuckDB
-- carries an equality through the joins of the mart, but no list.
-- grain: value_id
-- parameters: dump_id, owners (how many per memory space)
WITH ranked AS (
    SELECT
        dump_id,
        memory_space,
        value_id,
        owned_bytes,
        ROW_NUMBER() OVER (PARTITION BY memory_space ORDER BY owned_bytes DESC, value_id ASC) AS owner_rank
    FROM marts.peak_buffers_v1
    WHERE dump_id = $dump_id AND owned_bytes > 0
),

kept AS (
    SELECT * FROM marts.buffer_lifetimes_v2
    WHERE dump_id = $dump_id
)

SELECT
    r.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    r.owner_rank,  -- Place among the owners, from 1.
    r.value_id,  -- The value.
    k.instruction_name || COALESCE(NULLIF(k.shape_index, '{}'), '') AS value_name,  -- Instruction and part of its result.
    r.owned_bytes,  -- Bytes of the peak that count for this value.
    k.kept_by,  -- What keeps it up to its end.
    k.start_position,  -- First position alive.
    k.end_position,  -- Last position alive, included.
    k.live_position_count,  -- Positions at which it is alive.
    k.last_user_name,  -- Its last user.
    k.last_user_opcode,  -- Operation of this one.
    k.last_user_op_name,  -- Name of its framework operation.
    k.last_user_source_file || COALESCE(':' || k.last_user_source_line, '') AS last_user_source_place,  -- File and line of the user's program.
    k.last_use_position,  -- Position of the last use.
    k.read_through_name,  -- What hands it to the last user, such as a bitcast.
    k.idle_from_position,  -- Where its longest gap between two uses begins.
    k.idle_from_instruction_name,  -- Instruction there.
    k.idle_to_position,  -- Where the gap ends.
    k.idle_to_instruction_name,  -- Instruction there.
    k.longest_idle_position_count,  -- Positions between the two.
    k.successor_name  -- Instruction whose value goes on with its bytes.
FROM ranked AS r
INNER JOIN kept AS k ON r.dump_id = k.dump_id AND r.value_id = k.value_id
WHERE r.owner_rank <= $owners
ORDER BY r.memory_space ASC, r.owner_rank ASC
