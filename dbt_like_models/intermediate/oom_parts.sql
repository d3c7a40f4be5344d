-- What the allocations of the default memory space of a dump sum to: the parts that figures of messages are made of.
-- grain: dump_id
WITH shared AS (
    SELECT dump_id, SUM(size_bytes) AS shared_bytes FROM staging.allocations
    WHERE memory_space = 0 AND kind = 'parameter' AND is_maybe_live_out
    GROUP BY dump_id
)

SELECT
    r.dump_id,  -- The dump.
    CAST(SUM(CASE WHEN kind = 'parameter' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS parameter_bytes,  -- Parameters.
    CAST(SUM(CASE WHEN kind = 'temp' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS temp_bytes,  -- Temporaries.
    CAST(SUM(CASE WHEN kind = 'output' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS output_bytes,  -- Outputs that are not placed on parameters.
    CAST(COALESCE(MAX(s.shared_bytes), 0) AS BIGINT) AS shared_bytes,  -- Outputs that are.
    CAST(SUM(CASE WHEN kind = 'constant' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS constant_bytes,  -- Constants.
    CAST(
        SUM(CASE WHEN kind NOT IN ('parameter', 'temp', 'output') THEN reserved_bytes ELSE 0 END) AS BIGINT
    ) AS other_bytes  -- Constants and thread-local allocations.
FROM intermediate.reserved AS r
LEFT JOIN shared AS s ON r.dump_id = s.dump_id
WHERE r.memory_space = 0
GROUP BY r.dump_id
