-- Which layouts waste memory: padding and slack by element type, minor-to-major order and tiles. Tuples are left out.
-- Without live ranges the peak is not known, and its parts are null.
-- grain: dump_id, memory_space, element_type, layout, tiles
-- portable: yes
SELECT
    dump_id,  -- The dump.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    element_type,  -- Element type.
    layout,  -- Minor-to-major order of the dimensions; null where no layout is printed.
    tiles,  -- Tiles, such as (8,128)(2,1); null without.
    CAST(COUNT(*) AS BIGINT) AS value_count_all_values,  -- Values of that layout.
    CAST(SUM(size_bytes) AS BIGINT) AS slot_bytes_all_values,  -- Their slots. Values share bytes: never memory.
    CAST(SUM(element_bytes) AS BIGINT) AS element_bytes_all_values,  -- Of these, elements.
    CAST(SUM(layout_padding_bytes) AS BIGINT) AS layout_padding_bytes_all_values,  -- Of these, what tiles add.
    CAST(SUM(slack_bytes) AS BIGINT) AS slack_bytes_all_values,  -- Of these, slack; may be negative.
    CAST(SUM(peak_occupied_bytes) AS BIGINT) AS occupied_bytes,  -- Bytes such values own at the occupied peak.
    CAST(SUM(peak_element_bytes) AS BIGINT) AS element_bytes,  -- Of these, elements.
    CAST(SUM(peak_layout_padding_bytes) AS BIGINT) AS layout_padding_bytes,  -- Of these, what tiles add.
    CAST(SUM(peak_slack_bytes) AS BIGINT) AS slack_bytes  -- Of these, slack.
FROM intermediate.padded_values
WHERE element_type IS NOT NULL
GROUP BY dump_id, memory_space, element_type, layout, tiles
