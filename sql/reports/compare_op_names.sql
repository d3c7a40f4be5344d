-- The op_names of some dumps, by which programs of one function are told apart. That of a parameter is its path.
-- grain: dump_id, op_name
-- parameters: dump_ids (the dumps)
SELECT
    dump_id,  -- The dump.
    op_name,  -- Name of the framework operation.
    COUNT(*) AS value_count  -- Values with a live range that bear it.
FROM marts.allocation_map_v1
WHERE dump_id IN ($dump_ids) AND op_name IS NOT NULL
GROUP BY dump_id, op_name
ORDER BY dump_id, op_name
