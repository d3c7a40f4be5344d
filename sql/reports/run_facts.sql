-- What is known about some runs, and what was seen of each.
-- grain: run_id
-- parameters: run_ids
SELECT
    run_id,  -- The run.
    run_name,  -- Its name.
    run_order,  -- Its place among all runs, from 1.
    compiler,  -- What embeds XLA.
    compiler_version,  -- Version of the compiler.
    compiler_revision,  -- Source revision of the compiler.
    platform,  -- cpu, gpu or tpu, as the run, else its dumps say; null if unknown.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    started_at,  -- When it started (UTC).
    started_at_source,  -- Where that time comes from.
    dump_count,  -- Dumps seen, repeats counted each time.
    content_count,  -- Different contents among them.
    program_count,  -- Programs.
    reject_count,  -- Refused and not taken since.
    text_bytes,  -- Bytes of text of the dumps seen, repeats counted each time.
    loaded_at  -- When the last load that saw or refused a dump of it ended (UTC).
FROM marts.runs_v2
WHERE run_id IN ($run_ids)
