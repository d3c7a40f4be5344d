-- The programs of each function with what they reserve: of each program the dump of its newest run, the largest there.
-- Devices place and pad otherwise: they are kept apart.
-- grain: program_id, compile_target, device_kind
-- parameters: word (the name of a function, or the beginning of it; '' is all), memory_space, run_name ('' is any)
WITH ranked AS (
    SELECT
        c.program_id,
        c.program_name,
        c.compile_target,
        c.device_kind,
        c.dump_id,
        c.run_name,
        CONCAT_WS(' ', c.compiler, c.compiler_version) AS compiler,
        c.reserved_bytes,
        ROW_NUMBER() OVER (
            PARTITION BY c.program_id, c.compile_target, c.device_kind
            ORDER BY r.run_order DESC, c.reserved_bytes DESC, c.dump_id ASC
        ) AS place
    FROM marts.compiled_programs_v1 AS c
    INNER JOIN marts.runs_v1 AS r ON c.run_id = r.run_id
    WHERE c.memory_space = $memory_space AND starts_with(c.program_name, $word)
        AND c.run_name = COALESCE(NULLIF($run_name, ''), c.run_name)
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
    r.reserved_bytes  -- What it reserves in the memory space.
FROM ranked AS r
INNER JOIN marts.programs_v1 AS p ON r.program_id = p.program_id
WHERE r.place = 1
ORDER BY r.program_name, r.compile_target, r.device_kind, r.program_id
