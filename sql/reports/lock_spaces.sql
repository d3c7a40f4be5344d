-- What some dumps take in each memory space. Null parts where the dump has no live ranges.
-- grain: dump_id, memory_space
-- parameters: dump_ids (the dumps)
WITH padding AS (
    SELECT
        dump_id,
        memory_space,
        CAST(SUM(layout_padding_bytes) AS BIGINT) AS layout_padding_bytes
    FROM marts.padding_waste_v1
    WHERE dump_id IN ($dump_ids)
    GROUP BY dump_id, memory_space
),

donated AS (
    SELECT
        dump_id,
        memory_space,
        CAST(SUM(size_bytes) AS BIGINT) AS donated_bytes
    FROM marts.allocations_v1
    WHERE dump_id IN ($dump_ids) AND kind = 'parameter' AND is_maybe_live_out
    GROUP BY dump_id, memory_space
)

SELECT
    p.dump_id,  -- The dump.
    p.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    p.reserved_bytes,  -- Sum of allocation sizes, without thread-local ones.
    f.parameter_bytes,  -- Entry parameters; a donated one that is also an output counts here alone.
    f.output_bytes,  -- Outputs that are not placed on parameters.
    f.constant_bytes,  -- Constants.
    f.temp_bytes,  -- Temporaries.
    COALESCE(d.donated_bytes, 0) AS donated_bytes,  -- Of the parameters: those on which outputs are placed.
    p.occupied_peak_bytes,  -- Most bytes in the union of live slots.
    w.layout_padding_bytes  -- Layout padding alive at the occupied peak.
FROM marts.peak_memory_v1 AS p
INNER JOIN marts.footprint_v1 AS f ON p.dump_id = f.dump_id AND p.memory_space = f.memory_space
INNER JOIN padding AS w ON p.dump_id = w.dump_id AND p.memory_space = w.memory_space
LEFT JOIN donated AS d ON p.dump_id = d.dump_id AND p.memory_space = d.memory_space
WHERE p.dump_id IN ($dump_ids) AND f.dump_id IN ($dump_ids)
ORDER BY p.dump_id, p.memory_space
