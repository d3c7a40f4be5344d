-- What the allocations of the default memory space of a dump sum to: the parts that figures of messages are made of.
-- grain: dump_id
SELECT
    dump_id,  -- The dump.
    CAST(SUM(CASE WHEN kind = 'parameter' THEN size_bytes ELSE 0 END) AS BIGINT) AS parameter_bytes,  -- Parameters.
    CAST(SUM(CASE WHEN kind = 'temp' THEN size_bytes ELSE 0 END) AS BIGINT) AS temp_bytes,  -- Temporaries.
    CAST(SUM(CASE WHEN kind = 'output' THEN size_bytes ELSE 0 END) AS BIGINT) AS output_bytes,  -- Outputs that are not placed on parameters.
    CAST(
        SUM(CASE WHEN kind = 'parameter' AND is_maybe_live_out THEN size_bytes ELSE 0 END) AS BIGINT
    ) AS shared_bytes,  -- Outputs that are.
    CAST(SUM(CASE WHEN kind = 'constant' THEN size_bytes ELSE 0 END) AS BIGINT) AS constant_bytes,  -- Constants.
    CAST(
        SUM(CASE WHEN kind NOT IN ('parameter', 'temp', 'output') THEN size_bytes ELSE 0 END) AS BIGINT
    ) AS other_bytes  -- Constants and thread-local allocations.
FROM staging.allocation_sizes
WHERE memory_space = 0
GROUP BY dump_id
