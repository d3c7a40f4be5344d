-- The runs of the warehouse in their order, each with the counts of its dumps and its rejects.
-- grain: run_id
-- portable: yes
SELECT
    r.run_id,  -- The run.
    r.run_name,  -- Its name.
    CAST(
        ROW_NUMBER() OVER (ORDER BY r.started_at ASC, r.natural_name ASC, r.run_id ASC) AS BIGINT
    ) AS run_order,  -- Place among all runs, from 1: by start, then by name in natural order.
    r.compiler,  -- What embeds XLA: jaxlib, libtpu, tensorflow, torch_xla.
    r.compiler_version,  -- Version of the compiler.
    r.compiler_revision,  -- Source revision of the compiler.
    COALESCE(r.platform, s.platform) AS platform,  -- cpu, gpu or tpu, as the run, else its dumps say; null if unknown.
    r.track,  -- Label that tells series apart.
    r.device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    r.device_memory_bytes,  -- Memory of one device, which programs share; null where nobody said.
    r.started_at,  -- When the run started (UTC).
    r.started_at_source,  -- Where that time comes from.
    COALESCE(s.dump_count, 0) AS dump_count,  -- Dumps seen, repeats counted each time.
    COALESCE(s.content_count, 0) AS content_count,  -- Different contents among them.
    COALESCE(s.program_count, 0) AS program_count,  -- Programs.
    COALESCE(j.reject_count, 0) AS reject_count,  -- Refused and not taken since.
    COALESCE(j.refused_dump_count, 0) AS refused_dump_count,  -- Of these, dumps; others are messages of logs.
    COALESCE(s.text_bytes, 0) AS text_bytes,  -- Bytes of text of the dumps seen, repeats counted each time.
    GREATEST(COALESCE(s.loaded_at, j.rejected_at), COALESCE(j.rejected_at, s.loaded_at))
        AS loaded_at  -- When the last load that saw or refused a dump of it ended (UTC).
FROM staging.runs AS r
LEFT JOIN intermediate.run_sightings AS s ON r.run_id = s.run_id
LEFT JOIN intermediate.run_rejects AS j ON r.run_id = j.run_id
