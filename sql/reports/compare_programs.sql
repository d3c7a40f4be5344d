-- The programs of two runs, before and after, in each memory space. A program is matched by its id and compile target;
-- of several dumps of a run the largest stands for it. A memory space that a program has on one side only counts as
-- empty on the other. Of each status the biggest changes come first, then the largest programs.
-- grain: program_id, compile_target, memory_space
-- parameters: before_run_id, after_run_id
WITH spaces AS MATERIALIZED (
    SELECT * FROM marts.memory_space_trend_v1
    WHERE run_id IN ($before_run_id, $after_run_id)
),

seen AS (
    SELECT
        o.run_id,
        o.program_id,
        o.compile_target,
        MAX(o.platform) AS platform,
        MAX(o.program_name) AS program_name,
        -- Nothing lives where there is no allocation.
        COALESCE(BOOL_OR(s.occupied_peak_bytes IS NOT NULL OR s.run_id IS NULL), FALSE) AS has_live_ranges
    FROM marts.observations_v1 AS o
    LEFT JOIN spaces AS s
        ON
            o.run_id = s.run_id AND o.program_id = s.program_id
            AND o.compile_target IS NOT DISTINCT FROM s.compile_target
    WHERE o.run_id IN ($before_run_id, $after_run_id)
    GROUP BY o.run_id, o.program_id, o.compile_target
),

programs AS (
    SELECT
        program_id,
        compile_target,
        MAX(platform) AS platform,
        MAX(program_name) AS program_name,
        BOOL_OR(run_id = $before_run_id) AS is_before,
        BOOL_OR(run_id = $after_run_id) AS is_after,
        BOOL_OR(has_live_ranges) FILTER (WHERE run_id = $before_run_id) AS has_live_ranges_before,
        BOOL_OR(has_live_ranges) FILTER (WHERE run_id = $after_run_id) AS has_live_ranges_after
    FROM seen
    GROUP BY program_id, compile_target
),

targets AS (
    SELECT
        program_id,
        STRING_AGG(COALESCE(compile_target, 'unknown'), ', ' ORDER BY compile_target)
            FILTER (WHERE NOT is_after) AS only_before,
        STRING_AGG(COALESCE(compile_target, 'unknown'), ', ' ORDER BY compile_target)
            FILTER (WHERE NOT is_before) AS only_after
    FROM programs
    GROUP BY program_id
),

paired AS (
    SELECT
        p.*,
        s.memory_space,
        t.only_before,
        t.only_after,
        (SELECT BOOL_OR(is_before) AND BOOL_OR(is_after) FROM programs) AS has_both,
        MIN(p.program_id) OVER name <> MAX(p.program_id) OVER name AS has_namesakes,
        MIN(p.compile_target) OVER platform <> MAX(p.compile_target) OVER platform AS has_targets,
        b.dump_id AS before_dump_id,
        a.dump_id AS after_dump_id,
        b.variant_count AS before_variant_count,
        a.variant_count AS after_variant_count,
        CASE WHEN p.is_before THEN COALESCE(b.reserved_bytes, 0) END AS before_reserved,
        CASE WHEN p.is_after THEN COALESCE(a.reserved_bytes, 0) END AS after_reserved,
        CASE
            WHEN b.run_id IS NOT NULL THEN b.occupied_peak_bytes
            WHEN p.has_live_ranges_before THEN 0
        END AS before_occupied,
        CASE
            WHEN a.run_id IS NOT NULL THEN a.occupied_peak_bytes
            WHEN p.has_live_ranges_after THEN 0
        END AS after_occupied,
        CASE
            WHEN b.run_id IS NOT NULL THEN b.layout_padding_bytes
            WHEN p.has_live_ranges_before THEN 0
        END AS before_padding,
        CASE
            WHEN a.run_id IS NOT NULL THEN a.layout_padding_bytes
            WHEN p.has_live_ranges_after THEN 0
        END AS after_padding
    FROM programs AS p
    INNER JOIN targets AS t ON p.program_id = t.program_id
    INNER JOIN (SELECT DISTINCT program_id, compile_target, memory_space FROM spaces) AS s
        ON p.program_id = s.program_id AND p.compile_target IS NOT DISTINCT FROM s.compile_target
    LEFT JOIN spaces AS b
        ON
            b.run_id = $before_run_id AND s.program_id = b.program_id AND s.memory_space = b.memory_space
            AND s.compile_target IS NOT DISTINCT FROM b.compile_target
    LEFT JOIN spaces AS a
        ON
            a.run_id = $after_run_id AND s.program_id = a.program_id AND s.memory_space = a.memory_space
            AND s.compile_target IS NOT DISTINCT FROM a.compile_target
    WINDOW name AS (PARTITION BY p.program_name), platform AS (PARTITION BY p.platform)
),

reasoned AS (
    SELECT
        *,
        before_dump_id = after_dump_id AS has_same_content,
        CASE
            WHEN NOT has_both AND NOT is_before THEN 'the run before has no dump that could be read'
            WHEN NOT has_both AND NOT is_after THEN 'the run after has no dump that could be read'
            WHEN NOT (is_before AND is_after) AND only_before <> '' AND only_after <> ''
                THEN 'another compile target: ' || only_before || ' before, ' || only_after || ' after'
            WHEN NOT (is_before AND is_after) OR before_dump_id = after_dump_id THEN NULL
            WHEN before_occupied IS NULL AND after_occupied IS NULL THEN 'no live ranges before and after'
            WHEN before_occupied IS NULL THEN 'no live ranges before'
            WHEN after_occupied IS NULL THEN 'no live ranges after'
        END AS reason
    FROM paired
),

judged AS (
    SELECT
        *,
        CASE
            WHEN NOT (is_before AND is_after) AND reason <> '' THEN 'not compared'
            WHEN NOT is_before THEN 'new'
            WHEN NOT is_after THEN 'gone'
            WHEN before_reserved <> after_reserved THEN 'changed'
            WHEN has_same_content THEN 'unchanged'
            WHEN reason <> '' THEN 'not compared'
            WHEN before_occupied <> after_occupied OR before_padding <> after_padding THEN 'changed'
            ELSE 'unchanged'
        END AS status
    FROM reasoned
)

SELECT
    platform,  -- cpu, gpu or tpu; null where nobody said.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    status,  -- changed, new, gone, unchanged or not compared.
    ROW_NUMBER() OVER (
        PARTITION BY platform, memory_space, status
        ORDER BY
            ABS(after_reserved - before_reserved) DESC NULLS LAST,
            ABS(after_occupied - before_occupied) DESC NULLS LAST,
            ABS(after_padding - before_padding) DESC NULLS LAST,
            COALESCE(after_reserved, before_reserved) DESC,
            program_name ASC,
            program_id ASC,
            compile_target ASC
    ) AS status_rank,  -- Place among those of its memory space and status, from 1.
    program_id,  -- The program.
    program_name
    || CASE WHEN has_namesakes THEN ' #' || LEFT(CAST(program_id AS VARCHAR), 8) ELSE '' END
    || CASE WHEN has_targets THEN ' ' || compile_target ELSE '' END
        AS program_label,  -- Its name; beside others of that name its id begins so; the target, if there are several.
    compile_target,  -- cpu, tpu or a GPU architecture.
    reason,  -- What could not be compared, and why; null where all could.
    COALESCE(has_same_content, FALSE) AS has_same_content,  -- Whether the same dump stands for both runs.
    before_dump_id,  -- The dump that stands for the run before.
    after_dump_id,  -- The dump that stands for the run after.
    before_variant_count,  -- Different contents of the program in the run before.
    after_variant_count,  -- Different contents of it in the run after.
    before_reserved AS before_reserved_bytes,  -- Reserved bytes before.
    after_reserved AS after_reserved_bytes,  -- Reserved bytes after.
    after_reserved - before_reserved AS reserved_change_bytes,  -- Their change; null where one is missing.
    before_occupied AS before_occupied_peak_bytes,  -- Occupied peak before; null without live ranges.
    after_occupied AS after_occupied_peak_bytes,  -- Occupied peak after.
    after_occupied - before_occupied AS occupied_change_bytes,  -- Its change.
    before_padding AS before_layout_padding_bytes,  -- Layout padding alive at the occupied peak before.
    after_padding AS after_layout_padding_bytes,  -- Layout padding alive at the occupied peak after.
    after_padding - before_padding AS layout_padding_change_bytes  -- Its change.
FROM judged
ORDER BY platform ASC NULLS LAST, memory_space ASC, status ASC, status_rank ASC
