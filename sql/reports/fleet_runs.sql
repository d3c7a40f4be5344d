-- The runs in the order of their series, each with what was seen of it.
-- grain: run_id
SELECT
    run_id,  -- The run.
    run_name,  -- Its name.
    compiler,  -- What embeds XLA.
    compiler_version,  -- Version of the compiler.
    platform,  -- cpu, gpu or tpu, as the run, else its dumps say; null if unknown.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    started_at,  -- When it started (UTC).
    started_at_source,  -- Where that time comes from.
    dump_count,  -- Dumps seen, repeats counted each time.
    content_count,  -- Different contents among them.
    program_count,  -- Programs.
    reject_count,  -- Refused and not taken since.
    refused_dump_count  -- Of these, dumps; others are messages of logs.
FROM marts.runs_v2
ORDER BY run_order
