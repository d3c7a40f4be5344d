-- Sightings of dumps: the newest row of each file of a run, no protos whose text came later. Runs add what names lack.
-- grain: run_id, relative_path
WITH replaced AS (
    SELECT
        run_id,
        relative_path,
        replaced_load_id AS load_id
    FROM raw.observations
    WHERE replaced_load_id IS NOT NULL
    UNION ALL
    SELECT
        run_id,
        stand_in_path,
        stand_in_load_id
    FROM raw.observations
    WHERE stand_in_load_id IS NOT NULL
)

SELECT
    o.run_id,  -- The run the file belongs to.
    o.relative_path,  -- Path below the run's root.
    o.dump_id,  -- The content that was seen.
    o.load_id,  -- The load that saw it.
    o.program_id,  -- The program: its name and entry signature.
    o.program_name,  -- Module name without the suffixes that count recompiles; a weak key.
    o.module_id,  -- Module id in the file name.
    o.module_name,  -- Module name in the file name, verbatim.
    o.stage,  -- Stage in the file name.
    COALESCE(o.compile_target, r.platform) AS compile_target,  -- cpu, tpu or a GPU architecture such as sm_8.0.
    COALESCE(
        r.platform,
        CASE
            WHEN o.compile_target IN ('cpu', 'tpu') THEN o.compile_target
            WHEN o.compile_target IS NOT NULL THEN 'gpu'
        END
    ) AS platform,  -- cpu, gpu or tpu: what the run says, else what the file name says.
    COALESCE(o.compiler_revision, r.compiler_revision) AS compiler_revision,  -- CL number or source revision.
    o.dumped_at,  -- Time stamp in the file name.
    o.source_uri,  -- Where the file was read from.
    o.source_size_bytes,  -- Size of the file as it lies there.
    o.source_mtime_ns,  -- Its modification time, in nanoseconds since 1970.
    o.module_text_size_bytes,  -- Size of the module text beside it; null without one.
    o.module_text_mtime_ns,  -- Its modification time, in nanoseconds since 1970.
    o.stack_frames_id,  -- The stack frames at its head; null without any.
    o.stack_frames_fault,  -- Why its head cannot be read; null where it can.
    o.did_not_fit,  -- True where files beside it say that its compilation ran out of memory; else null.
    o.compile_flags_ids,  -- The options of its compilation, a set of each file beside it; null without any.
    o.compile_flags_size_bytes,  -- Size of those files together; null without any.
    o.compile_flags_mtime_ns,  -- Modification time of the newest of them, in nanoseconds since 1970.
    o.compile_flags_fault,  -- Which of them cannot be read, and why; null where all can.
    o.donations_id,  -- What the module text offers to place outputs on; null without one.
    o.proto_size_bytes,  -- Size of the proto beside it; null without one.
    o.proto_mtime_ns,  -- Its modification time, in nanoseconds since 1970.
    o.heap_events_id,  -- The traces of the proto; null without one that agrees.
    o.alias_sets_id,  -- The alias sets of the proto; null without one that agrees.
    o.proto_fault,  -- Why the proto cannot be read; null where it can.
    o.proto_difference  -- Where the proto says otherwise than the dump; null where it agrees.
FROM raw.observations AS o
INNER JOIN raw.runs AS r ON o.run_id = r.run_id
ANTI JOIN replaced AS n ON o.run_id = n.run_id AND o.relative_path = n.relative_path AND o.load_id = n.load_id
