-- The runs of the warehouse in their order, each with what was seen of it and a fingerprint of its dumps, its messages and
-- its flags: a log or a flag that comes later loads no dump again.
-- grain: run_id
WITH contents AS (
    SELECT
        run_id,
        program_id,
        dump_id,
        compile_target,
        platform,
        COUNT(*) AS dump_count,
        BOOL_OR(did_not_fit) AS did_not_fit
    FROM marts.observations_v2
    GROUP BY run_id, program_id, dump_id, compile_target, platform
),

fingerprints AS (
    SELECT
        run_id,
        BIT_XOR(HASH(program_id, dump_id, compile_target, platform, dump_count, did_not_fit)) AS fingerprint
    FROM contents
    GROUP BY run_id
),

messages AS (
    SELECT
        run_id,
        BIT_XOR(HASH(message_id, dump_id, join_state, log_path, line_number, log_count)) AS fingerprint
    FROM marts.oom_v1
    GROUP BY run_id
),

warnings AS (
    SELECT
        run_id,
        BIT_XOR(HASH(message_id, argument_number, dump_id, join_state, log_path, line_number)) AS fingerprint
    FROM marts.donation_warnings_v1
    GROUP BY run_id
),

sources AS (
    SELECT
        run_id,
        MAX(git_revision) AS git_revision,
        MAX(xla_flags) AS xla_flags
    FROM marts.compiled_programs_v1
    GROUP BY run_id
)

SELECT
    r.run_id,  -- The run.
    r.run_name,  -- Its name.
    r.run_order,  -- Its place among all runs, from 1.
    r.compiler,  -- What embeds XLA.
    r.compiler_version,  -- Version of the compiler.
    r.compiler_revision,  -- Source revision of the compiler.
    r.platform,  -- cpu, gpu or tpu, as the run, else its dumps say; null if unknown.
    r.track,  -- Label that tells series apart.
    r.device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    r.device_memory_bytes,  -- Memory of one device, which programs share; null where nobody said.
    r.started_at,  -- When it started (UTC).
    r.started_at_source,  -- Where that time comes from.
    r.dump_count,  -- Dumps seen, repeats counted each time.
    r.content_count,  -- Different contents among them.
    r.program_count,  -- Programs.
    r.reject_count,  -- Refused and not taken since.
    r.refused_dump_count,  -- Of these, dumps; others are messages of logs.
    r.text_bytes,  -- Bytes of text of the dumps seen, repeats counted each time.
    r.loaded_at,  -- When the last load that saw or refused a dump of it ended (UTC).
    c.capacity_bytes,  -- Bytes of the default memory space that a program may take; null where unknown.
    c.capacity_source,  -- Who says so: a message, the run, or a document.
    s.git_revision,  -- Source revision of the user's programs; null where nobody said.
    CAST(HASH(f.fingerprint, m.fingerprint, w.fingerprint, s.xla_flags) AS VARCHAR)
        AS fingerprint  -- Of its dumps, messages and flags.
FROM marts.runs_v2 AS r
LEFT JOIN marts.capacities_v1 AS c ON r.run_id = c.run_id
LEFT JOIN fingerprints AS f ON r.run_id = f.run_id
LEFT JOIN messages AS m ON r.run_id = m.run_id
LEFT JOIN warnings AS w ON r.run_id = w.run_id
LEFT JOIN sources AS s ON r.run_id = s.run_id
ORDER BY r.run_order
