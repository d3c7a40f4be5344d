-- What the programs of some runs take in a memory space.
-- grain: run_id, program_id, dump_id
-- parameters: run_ids (the runs), memory_space
SELECT
    c.run_id,  -- The run.
    c.program_id,  -- The program.
    c.program_name,  -- Its name; a weak key.
    c.dump_id,  -- The dump.
    MAX(c.compile_target) AS compile_target,  -- cpu, tpu or a GPU architecture.
    COALESCE(MAX(p.reserved_bytes), 0) AS reserved,  -- Reserved bytes; 0 without an allocation in this space.
    IF(COUNT(p.dump_id) = 0, 0, MAX(p.occupied_peak_bytes)) AS occupied,  -- Occupied peak; NULL without live ranges.
    COALESCE(MAX(f.temp_bytes), 0) AS temp,  -- Temporaries.
    COALESCE(MAX(f.footprint_bytes), 0) AS footprint  -- Footprint.
FROM marts.compiled_programs_v1 AS c
LEFT JOIN marts.peak_memory_v1 AS p ON c.dump_id = p.dump_id AND p.memory_space = $memory_space
LEFT JOIN marts.footprint_v1 AS f ON c.dump_id = f.dump_id AND f.memory_space = $memory_space
WHERE c.run_id IN ($run_ids)
GROUP BY c.run_id, c.program_id, c.program_name, c.dump_id
ORDER BY c.run_id ASC, c.program_name ASC, reserved DESC, occupied DESC, c.dump_id ASC
