-- Which values are padded many times over by their tiles: a last dimension of 1 laid out in lanes of 128?
-- topic: Padding
-- param: times = 4.0  physical bytes are at least so many times the logical bytes
-- param: rows = 20  rows at most
SELECT
    o.program_name,
    v.dump_id,
    v.instruction_name,
    v.shape_text,
    v.logical_bytes,
    v.physical_bytes,
    ROUND(CAST(v.physical_bytes AS DOUBLE) / v.logical_bytes, 1) AS times_padded,
    v.layout_padding_bytes
FROM staging.hlo_values AS v
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name FROM marts.observations_v1 GROUP BY dump_id
) AS o ON v.dump_id = o.dump_id
WHERE v.layout_padding_bytes > 0 AND v.logical_bytes > 0 AND v.physical_bytes >= $times * v.logical_bytes
ORDER BY v.layout_padding_bytes DESC, o.program_name, v.dump_id, v.value_id
LIMIT $rows
