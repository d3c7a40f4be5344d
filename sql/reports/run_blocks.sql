-- The largest contiguous blocks that the programs of some runs ask for, in each memory space. Allocations of one size and
-- kind in one program are one row; thread-local and empty ones are left out.
-- grain: run_id, platform, memory_space, program_id, compile_target, kind, size_bytes
-- parameters: run_ids, blocks (per platform and memory space)
WITH programs AS (
    SELECT
        *,
        MIN(program_id) OVER name <> MAX(program_id) OVER name AS has_namesakes,
        MIN(compile_target) OVER platform <> MAX(compile_target) OVER platform AS has_targets
    FROM marts.memory_space_trend_v1
    WHERE run_id IN ($run_ids)
    WINDOW name AS (PARTITION BY run_id, program_name), platform AS (PARTITION BY run_id, platform)
),

blocks AS (
    SELECT
        t.run_id,
        t.platform,
        b.memory_space,
        t.program_id,
        t.program_name,
        t.has_namesakes,
        t.has_targets,
        t.compile_target,
        b.kind,
        b.size_bytes,
        COUNT(*) AS allocation_count,
        MIN(b.allocation_index) AS first_allocation_index,
        MAX(b.occupied_peak_bytes) AS occupied_peak_bytes
    FROM programs AS t
    INNER JOIN marts.allocation_balance_v1 AS b ON t.dump_id = b.dump_id AND t.memory_space = b.memory_space
    WHERE b.kind <> 'thread-local' AND b.size_bytes > 0
    GROUP BY
        t.run_id,
        t.platform,
        b.memory_space,
        t.program_id,
        t.program_name,
        t.has_namesakes,
        t.has_targets,
        t.compile_target,
        b.kind,
        b.size_bytes
),

ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY run_id, platform, memory_space
            ORDER BY size_bytes DESC, program_name ASC, program_id ASC, compile_target ASC, first_allocation_index ASC
        ) AS size_rank
    FROM blocks
)

SELECT
    run_id,  -- The run.
    platform,  -- cpu, gpu or tpu; null where nobody said.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    size_rank,  -- Place of the block, from 1.
    size_bytes,  -- Bytes of one block.
    allocation_count,  -- How many of that size and kind the program has.
    kind,  -- parameter, output, constant or temp.
    program_id,  -- The program.
    program_name
    || CASE WHEN has_namesakes THEN ' #' || LEFT(CAST(program_id AS VARCHAR), 8) ELSE '' END
    || CASE WHEN has_targets THEN ' ' || compile_target ELSE '' END
        AS program_label,  -- Its name; beside others of that name its id begins so; the target, if there are several.
    compile_target,  -- cpu, tpu or a GPU architecture.
    first_allocation_index,  -- The first of these allocations.
    occupied_peak_bytes  -- Occupied peak of the fullest of them; null without live ranges.
FROM ranked
WHERE size_rank <= $blocks
ORDER BY run_id ASC, platform ASC NULLS LAST, memory_space ASC, size_rank ASC
