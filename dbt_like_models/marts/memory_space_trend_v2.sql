-- How the memory of a program changes from run to run: one series for each program, target, track, device and memory
-- space. A run in which a program has nothing in a memory space that it uses in others of the series has 0 bytes there.
-- A change is the difference from the previous run of the series; the first run of a series has none.
-- grain: run_id, program_id, compile_target, platform, track, device_kind, memory_space
-- portable: yes
WITH ordered AS (
    SELECT
        s.*,
        r.run_name,
        r.compiler,
        r.compiler_version,
        r.started_at,
        ROW_NUMBER() OVER series AS run_number,
        LAG(r.run_name) OVER series AS previous_run_name,
        LAG(s.reserved_bytes) OVER series AS previous_reserved_bytes,
        LAG(s.occupied_peak_bytes) OVER series AS previous_occupied_peak_bytes,
        LAG(s.layout_padding_bytes) OVER series AS previous_layout_padding_bytes
    FROM intermediate.space_runs AS s
    INNER JOIN staging.runs AS r ON s.run_id = r.run_id
    WINDOW series AS (
        PARTITION BY s.program_id, s.compile_target, s.platform, s.track, s.device_kind, s.memory_space
        ORDER BY r.started_at ASC, r.natural_name ASC, s.run_id ASC
    )
)

SELECT
    run_id,  -- The run.
    run_name,  -- Its name.
    compiler,  -- What embeds XLA.
    compiler_version,  -- Version of the compiler.
    started_at,  -- When the run started (UTC).
    program_id,  -- The program.
    program_name,  -- Its name; a weak key.
    compile_target,  -- cpu, tpu or a GPU architecture.
    platform,  -- cpu, gpu or tpu.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    dump_id,  -- The dump that stands for the run: the largest of the program.
    variant_count,  -- Different dumps of the program in the run that have an allocation in this space; where none has one, in the lowest space that it uses.
    dump_count,  -- Files of these dumps.
    CAST(run_number AS BIGINT) AS run_number,  -- Place of the run in its series, from 1.
    previous_run_name,  -- The previous run of the series.
    reserved_bytes,  -- Reserved bytes, without thread-local ones.
    reserved_bytes - previous_reserved_bytes AS reserved_change_bytes,  -- Change of reserved bytes.
    thread_local_bytes,  -- Thread-local bytes: taken once per thread.
    occupied_peak_bytes,  -- Occupied peak; null without live ranges.
    occupied_peak_bytes - previous_occupied_peak_bytes AS occupied_change_bytes,  -- Change of the occupied peak.
    layout_padding_bytes,  -- Layout padding alive at the occupied peak.
    layout_padding_bytes - previous_layout_padding_bytes AS layout_padding_change_bytes,  -- Change of that padding.
    slack_bytes  -- Slack alive at the occupied peak.
FROM ordered
