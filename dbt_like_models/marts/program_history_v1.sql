-- A program from run to run, over all its memory spaces: what it needs, and whether anything changed at all.
-- grain: run_id, program_id, compile_target, platform, track
WITH spaces AS (
    SELECT
        s.run_id,
        s.program_id,
        s.compile_target,
        s.platform,
        s.track,
        MAX(s.program_name) AS program_name,
        MAX(s.variant_count) AS variant_count,
        MAX(s.dump_count) AS dump_count,
        COUNT(*) AS memory_space_count,
        MAX(CASE WHEN s.memory_space = 0 THEN s.dump_id END) AS dump_id,
        MAX(CASE WHEN s.memory_space = 0 THEN s.reserved_bytes END) AS reserved_bytes,
        MAX(CASE WHEN s.memory_space = 0 THEN s.occupied_peak_bytes END) AS occupied_peak_bytes
    FROM intermediate.series_runs AS s
    GROUP BY s.run_id, s.program_id, s.compile_target, s.platform, s.track
),

ordered AS (
    SELECT
        s.*,
        r.run_name,
        r.started_at,
        r.compiler,
        r.compiler_version,
        d.max_position,
        d.text_bytes,
        ROW_NUMBER() OVER series AS run_number,
        LAG(s.dump_id) OVER series AS previous_dump_id,
        LAG(s.reserved_bytes) OVER series AS previous_reserved_bytes
    FROM spaces AS s
    INNER JOIN staging.runs AS r ON s.run_id = r.run_id
    LEFT JOIN staging.dumps AS d ON s.dump_id = d.dump_id
    WINDOW series AS (
        PARTITION BY s.program_id, s.compile_target, s.platform, s.track
        ORDER BY r.started_at ASC, r.natural_name ASC, s.run_id ASC
    )
)

SELECT
    run_id,  -- The run.
    run_name,  -- Its name.
    started_at,  -- When the run started (UTC).
    compiler,  -- What embeds XLA.
    compiler_version,  -- Version of the compiler.
    program_id,  -- The program.
    program_name,  -- Its name; a weak key.
    compile_target,  -- cpu, tpu or a GPU architecture.
    platform,  -- cpu, gpu or tpu.
    track,  -- Label that tells series apart.
    CAST(run_number AS BIGINT) AS run_number,  -- Place of the run in the history, from 1.
    dump_id,  -- The dump that stands for the run in memory space 0: the largest.
    CAST(dump_count AS BIGINT) AS dump_count,  -- Files of the program in the run.
    CAST(variant_count AS BIGINT) AS variant_count,  -- Different contents among them.
    CAST(memory_space_count AS BIGINT) AS memory_space_count,  -- Memory spaces it uses.
    reserved_bytes,  -- Reserved bytes of memory space 0.
    reserved_bytes - previous_reserved_bytes AS reserved_change_bytes,  -- Change against the previous run.
    occupied_peak_bytes,  -- Occupied peak of memory space 0.
    max_position AS schedule_length,  -- Lines of the schedule.
    text_bytes,  -- Bytes of the dump.
    CASE
        WHEN previous_dump_id IS NOT NULL THEN dump_id <> previous_dump_id
    END AS is_changed  -- Whether the dump differs from that of the previous run; null for the first.
FROM ordered
