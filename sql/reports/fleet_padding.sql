-- The programs whose newest run wastes most on layout padding: what their memory holds at the occupied peak.
-- Thread-local memory holds nothing there. Dumps without live ranges are left out: they have no known peak.
-- grain: program_id, compile_target, platform, track, device_kind, memory_space
-- parameters: padded (programs per platform, track and memory space)
WITH at_peak AS (
    SELECT
        dump_id,
        memory_space,
        CAST(SUM(occupied_bytes) AS BIGINT) AS occupied_bytes,
        CAST(SUM(element_bytes) AS BIGINT) AS element_bytes,
        CAST(SUM(layout_padding_bytes) AS BIGINT) AS layout_padding_bytes,
        CAST(SUM(slack_bytes) AS BIGINT) AS slack_bytes,
        CAST(SUM(tuple_table_bytes) AS BIGINT) AS tuple_table_bytes
    FROM marts.padding_waste_v1
    GROUP BY dump_id, memory_space
),

ranked AS (
    SELECT
        l.platform,
        l.track,
        l.device_kind,
        l.has_devices,
        l.memory_space,
        l.program_id,
        l.program_name,
        l.has_namesakes,
        l.compile_target,
        l.run_id,
        l.run_name,
        p.occupied_bytes,
        p.element_bytes,
        p.layout_padding_bytes,
        p.slack_bytes,
        p.tuple_table_bytes,
        ROW_NUMBER() OVER (
            PARTITION BY l.platform, l.track, l.memory_space
            ORDER BY
                p.layout_padding_bytes DESC,
                p.slack_bytes DESC,
                l.program_name ASC,
                l.program_id ASC,
                l.compile_target ASC,
                l.device_kind ASC NULLS FIRST
        ) AS padding_rank
    FROM fleet_series AS l
    INNER JOIN at_peak AS p ON l.dump_id = p.dump_id AND l.memory_space = p.memory_space
    WHERE l.occupied_peak_bytes IS NOT NULL AND p.layout_padding_bytes > 0
)

SELECT
    platform,  -- cpu, gpu or tpu; null where nobody said.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    has_devices,  -- Whether series of other devices are beside it.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    padding_rank,  -- Place of the program, from 1.
    program_id,  -- The program.
    program_name,  -- Its name; a weak key.
    has_namesakes,  -- Whether other programs of the warehouse bear that name.
    compile_target,  -- cpu, tpu or a GPU architecture.
    run_id,  -- The newest run of the series.
    run_name,  -- Its name.
    occupied_bytes,  -- Occupied peak: the sum of the four that follow.
    element_bytes,  -- Elements (logical bytes).
    layout_padding_bytes,  -- What tiles add.
    slack_bytes,  -- Alias sets and alignment.
    tuple_table_bytes  -- Pointer tables of tuples.
FROM ranked
WHERE padding_rank <= $padded
ORDER BY platform ASC NULLS LAST, track ASC NULLS FIRST, memory_space ASC, padding_rank ASC
