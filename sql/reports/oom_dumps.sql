-- The dumps that a message may be about: what their allocations of the default memory space sum to.
-- grain: run_name, relative_path
-- parameters: run_ids (the runs)
WITH observations AS (
    SELECT * FROM marts.observations_v2 WHERE run_id IN ($run_ids)
),

parts AS (
    SELECT
        dump_id,
        SUM(CASE WHEN kind = 'parameter' THEN size_bytes ELSE 0 END) AS parameters,
        SUM(CASE WHEN kind = 'temp' THEN size_bytes ELSE 0 END) AS temporaries,
        SUM(CASE WHEN kind = 'output' THEN size_bytes ELSE 0 END) AS outputs,
        SUM(CASE WHEN kind = 'parameter' AND is_maybe_live_out THEN size_bytes ELSE 0 END) AS shared,
        SUM(CASE WHEN kind = 'constant' THEN size_bytes ELSE 0 END) AS constants,
        SUM(CASE WHEN kind = 'thread-local' THEN size_bytes ELSE 0 END) AS thread_local
    FROM marts.allocations_v1
    WHERE memory_space = 0 AND dump_id IN (SELECT dump_id FROM observations)
    GROUP BY dump_id
),

others AS (
    SELECT
        dump_id,
        SUM(size_bytes) AS of_cpu,
        SUM(CASE WHEN memory_space NOT IN (5, 6) THEN size_bytes ELSE 0 END) AS of_gpu
    FROM marts.allocations_v1
    WHERE memory_space <> 0 AND kind <> 'thread-local' AND dump_id IN (SELECT dump_id FROM observations)
    GROUP BY dump_id
)

SELECT
    o.dump_id,  -- The dump.
    o.run_name,  -- The run it is of.
    o.relative_path,  -- Its file in the run.
    o.module_name,  -- Name of its module.
    o.program_name,  -- The same without what counts recompiles.
    o.compile_target,  -- cpu, tpu or a GPU architecture.
    o.did_not_fit,  -- Its program did not fit, as files beside it or a message of its run say; else null.
    CAST(COALESCE(p.parameters, 0) AS BIGINT) AS parameters,  -- Bytes of entry parameters.
    CAST(COALESCE(p.temporaries, 0) AS BIGINT) AS temporaries,  -- Bytes of temporaries.
    CAST(COALESCE(p.outputs, 0) AS BIGINT) AS outputs,  -- Bytes of outputs that are not placed on parameters.
    CAST(COALESCE(p.shared, 0) AS BIGINT) AS shared,  -- Bytes of outputs that are.
    CAST(COALESCE(p.constants, 0) AS BIGINT) AS constants,  -- Bytes of constants.
    CAST(COALESCE(p.thread_local, 0) AS BIGINT) AS thread_local,  -- Bytes of thread-local allocations.
    -- A CPU has one memory. Of a GPU all but the host's (5, 6) are labels on the memory that space 0 lies in.
    CAST(
        COALESCE(
            CASE WHEN o.compile_target = 'cpu' THEN r.of_cpu WHEN o.compile_target <> 'tpu' THEN r.of_gpu END, 0
        ) AS BIGINT
    ) AS other_spaces  -- Bytes of other memory spaces that lie in the same memory.
FROM observations AS o
LEFT JOIN parts AS p ON o.dump_id = p.dump_id
LEFT JOIN others AS r ON o.dump_id = r.dump_id
ORDER BY o.run_name, o.relative_path, o.dump_id
