-- The dump and the program of each file of each run: from a path to a dump_id and back; and whether it did not fit.
-- did_not_fit is true where files beside the dump or a message of its run say so, and null where nothing does: nobody
-- says of a program that it fits.
-- grain: run_id, relative_path
-- portable: no, because a message is joined to the dump that has its words by functions of texts of DuckDB
SELECT
    o.run_id,  -- The run.
    v.run_name,  -- Its name.
    o.relative_path,  -- Path of the file below the run's root.
    o.dump_id,  -- Its content, as last seen.
    v.program_id,  -- The program: its name and entry signature.
    v.program_name,  -- Module name without the suffixes that count recompiles; a weak key.
    v.module_id,  -- Module id in the file name; identifies nothing beyond its process.
    v.module_name,  -- Module name in the file name, verbatim.
    v.stage,  -- Stage in the file name.
    v.compile_target,  -- cpu, tpu or a GPU architecture such as sm_8.0.
    v.platform,  -- cpu, gpu or tpu.
    v.compiler_revision,  -- CL number or source revision.
    v.dumped_at,  -- Time stamp in the file name (UTC).
    v.text_bytes,  -- Bytes of text.
    CASE WHEN o.did_not_fit OR m.dump_id IS NOT NULL THEN TRUE END AS did_not_fit,  -- Its program did not fit; null where nothing says so.
    m.capacity_bytes,  -- Bytes of the default memory space that it did not fit into, as a message says; else null.
    c.used_values_state = 'absent' AND c.live_range_state = 'absent' AS has_allocations_alone  -- Neither values nor live ranges, so nothing says that these are all.
FROM staging.observations AS o
INNER JOIN marts.observations_v1 AS v ON o.run_id = v.run_id AND o.relative_path = v.relative_path
INNER JOIN staging.contents AS c ON o.dump_id = c.dump_id
LEFT JOIN intermediate.oom_observations AS m ON o.run_id = m.run_id AND o.dump_id = m.dump_id
