-- Which layouts waste the most: the same element type, order and tiles over all programs, each program at its own peak?
-- topic: Padding
-- param: memory_space = 0  memory space
-- param: rows = 20  rows at most
SELECT
    element_type,
    layout,
    tiles,
    CAST(COUNT(*) AS BIGINT) AS dump_count,
    CAST(MAX(layout_padding_bytes) AS BIGINT) AS largest_layout_padding_bytes,
    ROUND(
        100 * SUM(layout_padding_bytes_all_values)
        / NULLIF(SUM(layout_padding_bytes_all_values + element_bytes_all_values), 0), 1
    ) AS padding_percent_all_values
FROM marts.padding_by_tile_v1
WHERE memory_space = $memory_space
GROUP BY element_type, layout, tiles
ORDER BY largest_layout_padding_bytes DESC NULLS LAST, dump_count DESC, element_type, layout, tiles
LIMIT $rows
