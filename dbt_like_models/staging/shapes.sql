-- Shapes, with the sizes of the dimensions that a layout puts first.
-- grain: shape_id
SELECT
    shape_id,  -- Number of the shape in this warehouse.
    shape_text,  -- Shape as printed.
    element_type,  -- Element type; null for a tuple.
    CAST(ARRAY_LENGTH(dims) AS BIGINT) AS dimension_count,  -- Number of dimensions; null for a tuple.
    -- An unbounded dimension is null in the list, and may hold any number of elements.
    CASE
        WHEN tuple_arity IS NULL THEN ARRAY_LENGTH(dims) = 0 OR (list_count(dims) = ARRAY_LENGTH(dims) AND list_max(dims) <= 1)
    END AS is_single_element,  -- Whether it is an array of one element or none; null for a tuple.
    dims[1 + TRY_CAST(split_part(layout, ',', 1) AS BIGINT)]
        AS minor_size,  -- Size of the most minor dimension; null without a layout.
    dims[1 + TRY_CAST(split_part(layout, ',', 2) AS BIGINT)]
        AS second_minor_size,  -- Size of the next; null with fewer than two dimensions.
    layout,  -- Minor-to-major order.
    tiles,  -- Tiles of the layout.
    element_bits,  -- Bits of one element as stored.
    logical_bytes,  -- Bytes without padding; 8 per element of a tuple.
    physical_bytes,  -- Bytes laid out in tiles.
    tuple_arity  -- Number of elements of a tuple.
FROM raw.shapes
