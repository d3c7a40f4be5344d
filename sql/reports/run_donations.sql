-- Arguments of the programs of some runs that could be donated, because an output has their shape: the programs that would save
-- most first, and of each its largest arguments.
-- grain: run_id, platform, memory_space, program_id, compile_target, parameter_allocation_index
-- parameters: run_ids, donations (how many)
WITH programs AS (
    SELECT
        *,
        MIN(program_id) OVER name <> MAX(program_id) OVER name AS has_namesakes,
        MIN(compile_target) OVER platform <> MAX(compile_target) OVER platform AS has_targets
    FROM marts.memory_space_trend_v1
    WHERE run_id IN ($run_ids)
    WINDOW name AS (PARTITION BY run_id, program_name), platform AS (PARTITION BY run_id, platform)
),

candidates AS (
    SELECT
        t.run_id,
        t.platform,
        t.program_id,
        t.program_name,
        t.has_namesakes,
        t.has_targets,
        t.compile_target,
        -- A pair that the schedule permits has its moments; of another the mart has both, where they are known.
        d.is_in_this_schedule OR (d.last_use_position IS NOT NULL AND d.birth_position IS NOT NULL) AS are_moments_known,
        d.*,
        CAST(SUM(d.size_bytes) OVER program AS BIGINT) AS program_bytes
    FROM programs AS t
    INNER JOIN marts.donation_candidates_v2 AS d ON t.dump_id = d.dump_id AND t.memory_space = d.memory_space
    WINDOW program AS (PARTITION BY t.run_id, t.platform, t.program_id, t.compile_target, d.memory_space)
),

ranked AS (
    SELECT
        *,
        ROW_NUMBER() OVER (
            PARTITION BY run_id
            ORDER BY
                program_bytes DESC,
                program_name ASC,
                program_id ASC,
                compile_target ASC,
                memory_space ASC,
                size_bytes DESC,
                parameter_allocation_index ASC
        ) AS donation_rank,
        COUNT(*) OVER (PARTITION BY run_id) AS donation_count
    FROM candidates
)

SELECT
    run_id,  -- The run.
    donation_rank,  -- Place of the candidate, from 1.
    donation_count,  -- Candidates of all programs of the run.
    platform,  -- cpu, gpu or tpu; null where nobody said.
    memory_space,  -- Memory space of both; 0 is the default (HBM on TPU).
    program_id,  -- The program.
    program_name
    || CASE WHEN has_namesakes THEN ' #' || LEFT(CAST(program_id AS VARCHAR), 8) ELSE '' END
    || CASE WHEN has_targets THEN ' ' || compile_target ELSE '' END
        AS program_label,  -- Its name; beside others of that name its id begins so; the target, if there are several.
    compile_target,  -- cpu, tpu or a GPU architecture.
    program_bytes,  -- What donating all candidates of the program in this memory space saves.
    size_bytes,  -- Of these, this one: the bytes of parameter and output, each.
    parameter_number,  -- Entry parameter.
    parameter_shape_index,  -- Which leaf of the parameter.
    parameter_allocation_index,  -- Its allocation.
    parameter_name,  -- Its instruction.
    parameter_shape,  -- Its shape.
    output_name,  -- Instruction that defines the output.
    output_shape,  -- Its shape.
    'yes' AS same_shape,  -- Of all: JAX before 0.8 demands that the shapes agree.
    CASE WHEN are_moments_known THEN CASE WHEN is_meeting THEN 'yes' ELSE 'no' END END
        AS in_place,  -- Whether one instruction does both: reads, writes; null where the dump does not tell when.
    CASE WHEN are_moments_known THEN CASE WHEN is_in_this_schedule THEN 'yes' ELSE 'no' END END
        AS in_this_schedule  -- Whether the argument is free when the output is born, in this schedule; null likewise.
FROM ranked
WHERE donation_rank <= $donations
ORDER BY run_id, donation_rank
