-- The two runs of a comparison, and what was seen of each.
-- grain: side
-- parameters: before_run_id, after_run_id
WITH sides AS (
    SELECT 'before' AS side, $before_run_id AS run_id
    UNION ALL
    SELECT 'after' AS side, $after_run_id AS run_id
)

SELECT
    s.side,  -- before or after.
    r.run_id,  -- The run.
    r.run_name,  -- Its name.
    r.run_order,  -- Its place among all runs, from 1.
    r.compiler,  -- What embeds XLA.
    r.compiler_version,  -- Version of the compiler.
    r.compiler_revision,  -- Source revision of the compiler.
    r.platform,  -- cpu, gpu or tpu, as the run, else its dumps say; null if unknown.
    r.track,  -- Label that tells series apart.
    r.device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    r.device_memory_bytes,  -- Memory of one device; null where nobody said.
    c.capacity_bytes,  -- Bytes of the default memory space that a program may take; null where unknown.
    c.capacity_source,  -- Who says so: a message, the run, or a document.
    r.started_at,  -- When it started (UTC).
    r.started_at_source,  -- Where that time comes from.
    r.dump_count,  -- Dumps seen, repeats counted each time.
    r.content_count,  -- Different contents among them.
    r.program_count,  -- Programs.
    r.reject_count,  -- Refused and not taken since.
    r.refused_dump_count,  -- Of these, dumps; others are messages of logs.
    r.loaded_at  -- When the last load that saw or refused a dump of it ended (UTC).
FROM sides AS s
INNER JOIN marts.runs_v2 AS r ON s.run_id = r.run_id
INNER JOIN marts.capacities_v1 AS c ON s.run_id = c.run_id
ORDER BY s.side DESC
