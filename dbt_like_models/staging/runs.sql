-- Compiler runs, with the key that orders them within a series.
-- grain: run_id
SELECT
    run_id,  -- Number of the run in this warehouse.
    run_name,  -- Name of the run.
    root,  -- Where its dumps were found.
    compiler,  -- What embeds XLA: jaxlib, libtpu, tensorflow, torch_xla.
    compiler_version,  -- Version of the compiler.
    compiler_revision,  -- Source revision of the compiler.
    platform,  -- cpu, gpu or tpu; null where nobody said.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for.
    device_memory_bytes,  -- Memory of one device, in bytes.
    device_count,  -- Number of devices.
    xla_flags,  -- XLA_FLAGS of the compile job.
    git_revision,  -- Revision of the compiled program's source.
    host,  -- Host that compiled.
    started_at,  -- When the run started (UTC).
    started_at_source,  -- Where started_at comes from.
    labels,  -- Further labels, as a JSON object.
    -- Numbers padded to twenty digits sort run_9 before run_10; a time stamp has up to nineteen.
    regexp_replace(
        regexp_replace(run_name, '([0-9]+)', '00000000000000000000\1', 'g'), '[0-9]*([0-9]{20})', '\1', 'g'
    ) AS natural_name  -- The run's name in a form that sorts naturally; breaks ties of started_at.
FROM raw.runs
