-- What would be saved if the two minor dimensions of a padded value were exchanged under the same tile?
-- topic: Padding
-- param: tile_rows = 8  rows of the tile
-- param: tile_columns = 128  columns of the tile
-- param: rows = 20  rows at most
WITH exchanged AS (
    SELECT
        *,
        CAST(
            logical_bytes / (minor_size * second_minor_size)
            * CEIL(minor_size / $tile_rows) * $tile_rows
            * CEIL(second_minor_size / $tile_columns) * $tile_columns AS BIGINT
        ) AS exchanged_bytes
    FROM staging.shapes
    WHERE tiles LIKE '(' || $tile_rows || ',' || $tile_columns || ')%' AND minor_size * second_minor_size > 0
        AND physical_bytes > logical_bytes
)

SELECT
    o.program_name,
    v.dump_id,
    v.value_id,
    v.shape_text,
    v.logical_bytes,
    v.physical_bytes,
    e.exchanged_bytes,
    v.physical_bytes - e.exchanged_bytes AS saved_bytes
FROM exchanged AS e
INNER JOIN staging.hlo_values AS v ON e.shape_text = v.shape_text
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name FROM marts.observations_v1 GROUP BY dump_id
) AS o ON v.dump_id = o.dump_id
WHERE e.exchanged_bytes < e.physical_bytes
ORDER BY saved_bytes DESC, o.program_name, v.dump_id, v.value_id
LIMIT $rows
