-- The programs of each function with what they reserve: of each program the dump of its newest run, the largest there.
-- Devices place and pad otherwise: they are kept apart.
-- grain: program_id, compile_target, device_kind
-- parameters: word (the name of a function, or the beginning of it; '' is all), memory_space, run_name ('' is any)
WITH held AS (
    SELECT
        run_id,
        program_id,
        program_name,
        compile_target,
        device_kind,
        dump_id,
        run_name,
        compiler_revision,
        CONCAT_WS(' ', compiler, compiler_version) AS compiler,
        CAST(SUM(reserved_bytes) AS BIGINT) AS reserved_bytes,
        COALESCE(BOOL_OR(memory_space <> $memory_space AND reserved_bytes > 0), FALSE) AS has_other_spaces
    FROM marts.compiled_programs_v1
    -- Of a GPU all but the host's (5, 6) are labels on the memory that space 0 lies in; a CPU has one memory.
    WHERE (
        memory_space = $memory_space OR ($memory_space = 0 AND (
            compile_target = 'cpu' OR (compile_target NOT IN ('cpu', 'tpu') AND memory_space NOT IN (5, 6))
        ))
    ) AND starts_with(program_name, $word) AND run_name = COALESCE(NULLIF($run_name, ''), run_name)
    GROUP BY
        run_id, program_id, program_name, compile_target, device_kind, dump_id, run_name, compiler_revision,
        CONCAT_WS(' ', compiler, compiler_version)
),

ranked AS (
    SELECT
        h.*,
        ROW_NUMBER() OVER (
            PARTITION BY h.program_id, h.compile_target, h.device_kind
            ORDER BY r.run_order DESC, h.reserved_bytes DESC, h.dump_id ASC
        ) AS place
    FROM held AS h
    INNER JOIN marts.runs_v1 AS r ON h.run_id = r.run_id
)

SELECT
    r.program_id,  -- The program: one signature of a function.
    r.program_name,  -- The function.
    r.compile_target,  -- cpu, tpu or a GPU architecture.
    r.device_kind,  -- Device its run compiled for; null where nobody said.
    p.entry_signature,  -- Element types and dimensions of parameters and output.
    r.dump_id,  -- The dump that stands for it.
    r.run_name,  -- The run of that.
    r.compiler,  -- Its compiler with the version; empty where nobody said.
    r.reserved_bytes,  -- What it reserves in the memory space; in 0, in all that lie in the memory of its device.
    r.has_other_spaces,  -- Whether these are several.
    EXISTS (
        SELECT 1 FROM marts.observations_v2 AS o WHERE o.run_id = r.run_id AND o.dump_id = r.dump_id AND o.did_not_fit
    ) AS is_refused  -- Whether it did not fit, as files beside the dump or a message of its run say.
FROM ranked AS r
INNER JOIN marts.programs_v1 AS p ON r.program_id = p.program_id
WHERE r.place = 1
ORDER BY r.program_name, r.compile_target, r.device_kind, r.program_id
