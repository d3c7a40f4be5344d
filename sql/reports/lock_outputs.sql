-- The values in outputs that are not placed on parameters, the largest first: whose lines a lost donation concerns.
-- grain: dump_id, value_id
-- parameters: dump_ids (the dumps)
SELECT
    m.dump_id,  -- The dump.
    m.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    m.size_bytes,  -- The slot.
    m.op_name,  -- Name of the framework operation.
    m.source_file || COALESCE(':' || m.source_line, '') AS source_place  -- Where it was written.
FROM marts.allocation_map_v1 AS m
WHERE m.dump_id IN ($dump_ids) AND m.kind = 'output' AND m.source_file IS NOT NULL
ORDER BY m.dump_id ASC, m.memory_space ASC, m.size_bytes DESC, m.value_id ASC
