-- Each dump of a program of a run, in each memory space, beside all that is known of what compiled it.
-- grain: run_id, program_id, compile_target, dump_id, memory_space, compiler_revision
-- portable: yes
WITH seen AS (
    SELECT DISTINCT run_id, program_id, program_name, compile_target, dump_id, compiler_revision
    FROM staging.observations
)

SELECT
    s.run_id,  -- The run.
    r.run_name,  -- Its name.
    s.program_id,  -- The program.
    s.program_name,  -- Its name; a weak key.
    s.compile_target,  -- cpu, tpu or a GPU architecture.
    s.dump_id,  -- The dump.
    t.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    r.compiler,  -- What embeds XLA.
    r.compiler_version,  -- Its version; null where nobody said.
    s.compiler_revision,  -- Source revision of the compiler, as the name of the dump says it.
    r.device_kind,  -- Device the run compiled for; null where nobody said.
    r.xla_flags,  -- XLA_FLAGS of the run; null where nobody said.
    r.git_revision,  -- Source revision of the user's program; null where nobody said.
    t.reserved_bytes,  -- Reserved bytes, without thread-local ones.
    t.occupied_peak_bytes  -- Occupied peak; null without live ranges.
FROM seen AS s
INNER JOIN staging.runs AS r ON s.run_id = r.run_id
INNER JOIN intermediate.space_totals AS t ON s.dump_id = t.dump_id
