-- The dump and the program of each file of each run: from a path to a dump_id and back.
-- grain: run_id, relative_path
-- portable: yes
SELECT
    o.run_id,  -- The run.
    r.run_name,  -- Its name.
    o.relative_path,  -- Path of the file below the run's root.
    o.dump_id,  -- Its content, as last seen.
    o.program_id,  -- The program: its name and entry signature.
    o.program_name,  -- Module name without the suffixes that count recompiles; a weak key.
    o.module_id,  -- Module id in the file name; identifies nothing beyond its process.
    o.module_name,  -- Module name in the file name, verbatim.
    o.stage,  -- Stage in the file name.
    o.compile_target,  -- cpu, tpu or a GPU architecture such as sm_8.0.
    o.platform,  -- cpu, gpu or tpu.
    o.compiler_revision,  -- CL number or source revision.
    o.dumped_at,  -- Time stamp in the file name (UTC).
    d.text_bytes  -- Bytes of text.
FROM staging.observations AS o
INNER JOIN staging.runs AS r ON o.run_id = r.run_id
INNER JOIN staging.dumps AS d ON o.dump_id = d.dump_id
