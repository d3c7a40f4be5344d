-- Which layouts waste memory: the element types and tiles of the newest run of each program, by the most layout padding
-- that one program has alive at its occupied peak. Programs are never added up.
-- grain: platform, track, memory_space, element_type, layout, tiles
-- parameters: tiles (rows)
WITH by_layout AS (
    SELECT
        l.platform,
        l.track,
        l.memory_space,
        t.element_type,
        t.layout,
        t.tiles,
        CAST(COUNT(*) AS BIGINT) AS program_count,
        MAX(t.layout_padding_bytes) AS layout_padding_bytes,
        FIRST(
            t.occupied_bytes ORDER BY t.layout_padding_bytes DESC, l.program_name ASC, t.occupied_bytes DESC
        ) AS occupied_bytes,
        FIRST(
            l.program_name ORDER BY t.layout_padding_bytes DESC, l.program_name ASC, t.occupied_bytes DESC
        ) AS program_name
    FROM fleet_series AS l
    INNER JOIN marts.padding_by_tile_v1 AS t ON l.dump_id = t.dump_id AND l.memory_space = t.memory_space
    WHERE t.layout_padding_bytes > 0
    GROUP BY l.platform, l.track, l.memory_space, t.element_type, t.layout, t.tiles
)

SELECT
    platform,  -- cpu, gpu or tpu; null where nobody said.
    track,  -- Label that tells series apart.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    element_type,  -- Element type.
    layout,  -- Minor-to-major order of the dimensions.
    tiles,  -- Tiles, such as (8,128)(2,1).
    program_count,  -- Programs with such padding alive at their peak.
    layout_padding_bytes,  -- Most layout padding of one program.
    occupied_bytes,  -- What values of this layout own at the peak of that program, padding included.
    program_name  -- That program.
FROM by_layout
ORDER BY
    layout_padding_bytes DESC,
    platform ASC NULLS LAST,
    track ASC NULLS FIRST,
    memory_space ASC,
    element_type ASC,
    layout ASC,
    tiles ASC
LIMIT $tiles
