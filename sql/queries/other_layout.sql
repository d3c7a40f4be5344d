-- What would be saved if the two minor dimensions of a padded value were exchanged under the same tile?
-- topic: Padding
-- param: tile_rows = 8  rows of the tile
-- param: tile_columns = 128  columns of the tile
-- param: rows = 20  rows at most
WITH dimensions AS (
    SELECT
        v.dump_id,
        v.value_id,
        s.shape_text,
        v.size_bytes,
        s.logical_bytes,
        s.physical_bytes,
        s.element_bits,
        s.dims[1 + CAST(split_part(s.layout, ',', 1) AS BIGINT)] AS minor_size,
        s.dims[1 + CAST(split_part(s.layout, ',', 2) AS BIGINT)] AS second_size
    FROM raw.hlo_values AS v
    INNER JOIN raw.shapes AS s ON v.shape_id = s.shape_id
    WHERE s.tiles LIKE '(' || $tile_rows || ',' || $tile_columns || ')%' AND LEN(s.dims) >= 2
        AND s.physical_bytes > s.logical_bytes AND s.logical_bytes > 0
),

exchanged AS (
    SELECT
        *,
        CAST(
            s.logical_bytes / (minor_size * second_size)
            * CEIL(minor_size / $tile_rows) * $tile_rows * CEIL(second_size / $tile_columns) * $tile_columns AS BIGINT
        ) AS exchanged_bytes
    FROM dimensions AS s
    WHERE minor_size * second_size > 0
)

SELECT
    o.program_name,
    e.dump_id,
    e.value_id,
    e.shape_text,
    e.logical_bytes,
    e.physical_bytes,
    e.exchanged_bytes,
    e.physical_bytes - e.exchanged_bytes AS saved_bytes
FROM exchanged AS e
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name FROM marts.observations_v1 GROUP BY dump_id
) AS o ON e.dump_id = o.dump_id
WHERE e.exchanged_bytes < e.physical_bytes
ORDER BY saved_bytes DESC, o.program_name, e.dump_id, e.value_id
LIMIT $rows
