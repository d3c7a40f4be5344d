-- A program from run to run: the bytes that it needs in memory space 0, and whether another dump stands for it
-- there than in the run before.
-- grain: run_id, program_id, compile_target, platform, track
-- portable: yes
WITH ordered AS (
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
    FROM intermediate.program_runs AS s
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
    dump_count,  -- Files of the program in the run.
    variant_count,  -- Different contents among them.
    memory_space_count,  -- Memory spaces it uses.
    reserved_bytes,  -- Reserved bytes of memory space 0.
    reserved_bytes - previous_reserved_bytes AS reserved_change_bytes,  -- Change against the previous run.
    occupied_peak_bytes,  -- Occupied peak of memory space 0.
    max_position AS schedule_length,  -- Lines of the schedule.
    text_bytes,  -- Bytes of the dump.
    CASE
        WHEN previous_dump_id IS NOT NULL THEN dump_id <> previous_dump_id
    END AS is_changed  -- Whether dump_id is not that of the previous run, be the bytes of both the same; null for the first run, and where either has nothing in memory space 0.
FROM ordered
