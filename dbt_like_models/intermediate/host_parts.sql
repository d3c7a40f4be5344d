-- What lies in the host's memory, which memory_analysis() adds up apart; memory space 5 (`Layout::kHostMemorySpace`).
-- grain: dump_id
SELECT
    dump_id,  -- The dump; one without a row has nothing there.
    CAST(SUM(CASE WHEN parameter_number IS NOT NULL THEN size_bytes ELSE 0 END) AS BIGINT)
        AS argument_bytes,  -- Entry parameters.
    CAST(SUM(CASE WHEN is_maybe_live_out THEN size_bytes ELSE 0 END) AS BIGINT) AS output_bytes,  -- What may be live out.
    CAST(SUM(CASE WHEN parameter_number IS NOT NULL AND is_maybe_live_out THEN size_bytes ELSE 0 END) AS BIGINT)
        AS alias_bytes,  -- What is both.
    CAST(SUM(CASE WHEN kind = 'temp' THEN size_bytes ELSE 0 END) AS BIGINT) AS temp_bytes  -- Temporaries.
FROM staging.allocation_sizes
WHERE memory_space = 5
GROUP BY dump_id
