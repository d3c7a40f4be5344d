-- The programs of some runs in each memory space, the largest first. Of several dumps of a program the largest stands for
-- it; files with the same content are one.
-- grain: run_id, platform, memory_space, program_id, compile_target
-- parameters: run_ids
WITH programs AS (
    SELECT
        *,
        MIN(program_id) OVER name <> MAX(program_id) OVER name AS has_namesakes,
        MIN(compile_target) OVER platform <> MAX(compile_target) OVER platform AS has_targets
    FROM marts.memory_space_trend_v2
    WHERE run_id IN ($run_ids)
    WINDOW name AS (PARTITION BY run_id, program_name), platform AS (PARTITION BY run_id, platform)
)

SELECT
    p.run_id,  -- The run.
    p.platform,  -- cpu, gpu or tpu; null where nobody said.
    p.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    ROW_NUMBER() OVER (
        PARTITION BY p.run_id, p.platform, p.memory_space
        ORDER BY
            p.reserved_bytes DESC,
            p.occupied_peak_bytes DESC NULLS LAST,
            p.program_name ASC,
            p.program_id ASC,
            p.compile_target ASC
    ) AS size_rank,  -- Place of the program, from 1.
    p.program_id,  -- The program.
    p.program_name
    || CASE WHEN p.has_namesakes THEN ' #' || LEFT(CAST(p.program_id AS VARCHAR), 8) ELSE '' END
    || CASE WHEN p.has_targets THEN ' ' || p.compile_target ELSE '' END
        AS program_label,  -- Its name; beside others of that name its id begins so; the target, if there are several.
    p.compile_target,  -- cpu, tpu or a GPU architecture.
    p.dump_id,  -- The dump that stands for it.
    p.dump_count,  -- Files of the program.
    p.variant_count,  -- Different contents among them.
    p.reserved_bytes,  -- Reserved bytes, without thread-local ones.
    p.reserved_change_bytes,  -- Change against the previous run of the series; null in its first run.
    p.previous_run_name,  -- That run.
    p.occupied_peak_bytes,  -- Occupied peak; null without live ranges.
    p.layout_padding_bytes,  -- Layout padding alive at the occupied peak.
    p.slack_bytes,  -- Slack alive at the occupied peak.
    f.parameter_bytes,  -- Of the reserved: entry parameters.
    f.output_bytes,  -- Of the reserved: outputs not placed on parameters.
    f.constant_bytes,  -- Of the reserved: constants.
    f.temp_bytes  -- Of the reserved: temporaries.
FROM programs AS p
INNER JOIN marts.footprint_v1 AS f ON p.dump_id = f.dump_id AND p.memory_space = f.memory_space
ORDER BY p.run_id ASC, p.platform ASC NULLS LAST, p.memory_space ASC, size_rank ASC
