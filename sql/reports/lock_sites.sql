-- Who fills the occupied peak of each memory space of some dumps, by operation and source line.
-- grain: dump_id, memory_space, kind, op_name, source, unnamed_shape
-- parameters: dump_ids (the dumps)
WITH owners AS (
    SELECT
        dump_id,
        memory_space,
        kind,
        COALESCE(op_name, '') AS op_name,
        COALESCE(source_file || COALESCE(':' || source_line, ''), '') AS source_place,
        COALESCE(opcode || ' ', '') || REGEXP_REPLACE(shape_text, '\{[^}]*\}', '', 'g') AS shape,
        REGEXP_REPLACE(shape_text, '\{[^}]*\}', '', 'g') AS plain_shape,
        owned_bytes,
        layout_padding_bytes,
        value_id
    FROM marts.peak_buffers_v1
    WHERE dump_id IN ($dump_ids) AND owned_bytes > 0
)

SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    CAST(SUM(owned_bytes) AS BIGINT) AS owned_bytes,  -- Bytes of the peak that its values own.
    kind,  -- parameter, output, constant or temp.
    COUNT(*) AS value_count,  -- Values.
    ARG_MIN(CASE WHEN op_name = '' THEN shape ELSE plain_shape END, (-owned_bytes, value_id)) AS shape,  -- Of the largest.
    op_name,  -- Name of the framework operation; empty where none is printed.
    source_place,  -- File and line of the user's program; empty where nothing says it.
    CAST(SUM(layout_padding_bytes) AS BIGINT) AS layout_padding_bytes  -- Of the owned: what tiles add.
FROM owners
GROUP BY dump_id, memory_space, kind, op_name, source_place, CASE WHEN op_name = '' THEN shape ELSE '' END
ORDER BY dump_id, memory_space, owned_bytes DESC, kind, op_name, source_place, shape
