-- The sums that `compiled.memory_analysis()` is made of, as upstream makes them of a buffer assignment.
-- argument, output and alias: `CompiledMemoryStats::PopulateBufferStatsFromAllocations`; the static part of the peak:
-- `ComputePeakMemory`, the largest buffer of each parameter, constant and live-out allocation. Memory space 5 is the
-- host (`Layout::kHostMemorySpace`), all others are the device.
-- grain: dump_id
-- materialized: incremental by dump_id
WITH slots AS (
    SELECT dump_id, allocation_index, MAX(size_bytes) AS largest_bytes
    FROM staging.value_slots
    GROUP BY dump_id, allocation_index
),

measured AS (
    SELECT
        a.*,
        a.memory_space = 5 AS is_host,
        a.parameter_number IS NOT NULL AS is_parameter,
        h.held_bytes,
        COALESCE(s.largest_bytes, 0) AS largest_bytes
    FROM staging.allocation_sizes AS a
    LEFT JOIN slots AS s ON a.dump_id = s.dump_id AND a.allocation_index = s.allocation_index
    LEFT JOIN intermediate.arena_peaks AS h ON a.dump_id = h.dump_id AND a.allocation_index = h.allocation_index
)

SELECT
    dump_id,  -- The dump.
    CAST(SUM(CASE WHEN is_parameter AND NOT is_host THEN size_bytes ELSE 0 END) AS BIGINT)
        AS argument_bytes,  -- Entry parameters.
    CAST(SUM(CASE WHEN is_maybe_live_out AND NOT is_host THEN size_bytes ELSE 0 END) AS BIGINT)
        AS output_bytes,  -- What may be live out, donated parameters included.
    CAST(SUM(CASE WHEN is_parameter AND is_maybe_live_out AND NOT is_host THEN size_bytes ELSE 0 END) AS BIGINT)
        AS alias_bytes,  -- Parameters that may be live out: in both sums above.
    CAST(SUM(CASE WHEN kind = 'temp' AND NOT is_host THEN size_bytes ELSE 0 END) AS BIGINT)
        AS temp_bytes,  -- Temporaries of all memory spaces of the device.
    CAST(SUM(CASE WHEN is_host AND kind IN ('parameter', 'output', 'temp') THEN size_bytes ELSE 0 END) AS BIGINT)
        AS host_bytes,  -- Entry parameters, outputs and temporaries in the host's memory, each once.
    CAST(SUM(CASE WHEN kind = 'temp' AND memory_space = 0 THEN size_bytes ELSE 0 END) AS BIGINT)
        AS arena_bytes,  -- Temporaries of memory space 0.
    CASE
        WHEN NOT BOOL_OR(held_bytes IS NULL AND kind = 'temp' AND memory_space = 0)
            THEN CAST(SUM(COALESCE(held_bytes, 0)) AS BIGINT)
    END AS arena_held_bytes,  -- Arrays in them when these take most, and all their tables; null without live ranges.
    CAST(SUM(CASE WHEN kind = 'temp' THEN size_bytes ELSE 0 END) AS BIGINT)
        AS all_temp_bytes,  -- Temporaries of all memory spaces.
    CAST(SUM(CASE WHEN kind IN ('parameter', 'output', 'constant') THEN largest_bytes ELSE 0 END) AS BIGINT)
        AS static_peak_bytes,  -- The static part of the peak, over all memory spaces.
    CAST(SUM(CASE WHEN kind <> 'thread-local' THEN size_bytes ELSE 0 END) AS BIGINT)
        AS footprint_bytes  -- Footprint over all memory spaces.
FROM measured
GROUP BY dump_id
