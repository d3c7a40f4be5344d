-- The largest constants baked into the programs of some runs; those of thread-local memory are left out.
-- grain: run_id, platform, memory_space, program_id, compile_target, value_id
-- parameters: run_ids, constants (how many)
WITH programs AS (
    SELECT
        *,
        MIN(program_id) OVER name <> MAX(program_id) OVER name AS has_namesakes,
        MIN(compile_target) OVER platform <> MAX(compile_target) OVER platform AS has_targets
    FROM marts.memory_space_trend_v1
    WHERE run_id IN ($run_ids)
    WINDOW name AS (PARTITION BY run_id, program_name), platform AS (PARTITION BY run_id, platform)
),

ranked AS (
    SELECT
        t.run_id,
        t.platform,
        c.memory_space,
        t.program_id,
        t.program_name,
        t.has_namesakes,
        t.has_targets,
        t.compile_target,
        c.value_id,
        c.instruction_name,
        c.shape_text,
        c.op_name,
        c.logical_bytes,
        c.allocation_bytes,
        ROW_NUMBER() OVER (
            PARTITION BY t.run_id
            ORDER BY
                c.allocation_bytes DESC,
                t.program_name ASC,
                t.program_id ASC,
                t.compile_target ASC,
                c.memory_space ASC,
                c.value_id ASC
        ) AS size_rank,
        COUNT(*) OVER (PARTITION BY t.run_id) AS constant_count
    FROM programs AS t
    INNER JOIN marts.constants_v1 AS c ON t.dump_id = c.dump_id AND t.memory_space = c.memory_space
    WHERE NOT c.is_thread_local
)

SELECT
    run_id,  -- The run.
    size_rank,  -- Place of the constant, from 1.
    constant_count,  -- Constants of all programs of the run.
    platform,  -- cpu, gpu or tpu; null where nobody said.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    program_id,  -- The program.
    program_name
    || CASE WHEN has_namesakes THEN ' #' || LEFT(CAST(program_id AS VARCHAR), 8) ELSE '' END
    || CASE WHEN has_targets THEN ' ' || compile_target ELSE '' END
        AS program_label,  -- Its name; beside others of that name its id begins so; the target, if there are several.
    compile_target,  -- cpu, tpu or a GPU architecture.
    value_id,  -- The value of the constant.
    instruction_name,  -- Instruction that defines it.
    shape_text,  -- Shape as printed.
    op_name,  -- Name of the framework operation.
    logical_bytes,  -- Bytes without padding; 8 per element of a tuple.
    allocation_bytes  -- Bytes reserved for it.
FROM ranked
WHERE size_rank <= $constants
ORDER BY run_id, size_rank
