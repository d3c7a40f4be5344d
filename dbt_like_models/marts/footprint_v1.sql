-- What a program needs in each memory space: footprint = parameters + outputs + constants + temporaries.
-- A process needs its resident arrays, its constants, and the largest increment of the programs that run at one time:
-- never the sum, nor the maximum, of footprints.
-- grain: dump_id, memory_space
-- portable: yes
WITH kinds AS (
    SELECT
        dump_id,
        memory_space,
        CAST(SUM(CASE WHEN kind = 'parameter' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS parameter_bytes,
        CAST(SUM(CASE WHEN kind = 'output' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS output_bytes,
        CAST(SUM(CASE WHEN kind = 'constant' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS constant_bytes,
        CAST(SUM(CASE WHEN kind = 'temp' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS temp_bytes,
        CAST(SUM(CASE WHEN kind = 'thread-local' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS thread_local_bytes
    FROM intermediate.reserved
    GROUP BY dump_id, memory_space
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    parameter_bytes,  -- Entry parameters; a donated one that is also an output counts here alone.
    output_bytes,  -- Outputs that are not placed on parameters.
    constant_bytes,  -- Constants.
    temp_bytes,  -- Temporaries.
    thread_local_bytes,  -- Thread-local allocations, taken once per thread; not part of the footprint.
    parameter_bytes + output_bytes + constant_bytes + temp_bytes AS footprint_bytes,  -- All of it while it runs.
    output_bytes + constant_bytes + temp_bytes AS increment_bytes  -- What a call adds when its arguments are resident.
FROM kinds
