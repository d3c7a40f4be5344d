-- Which allocation or value does an out-of-memory message mean, by its size?
-- topic: Capacity
-- param: size_bytes = 16384  the size, in bytes or as XLA prints it, such as 1.17G
-- param: off_percent = 0.5  how far the size may be off, as messages round
-- param: rows = 20  rows at most
WITH sizes AS (
    SELECT dump_id, 'allocation' AS what, allocation_index, NULL AS value_id, kind AS instruction_or_kind,
        COALESCE(parameter_shape, output_shape) AS shape_text, size_bytes
    FROM staging.allocations
    UNION ALL
    SELECT dump_id, 'value', allocation_index, value_id, instruction_name, shape_text, size_bytes
    FROM staging.hlo_values
)

SELECT
    o.program_name, s.what, s.size_bytes, s.instruction_or_kind, s.shape_text, s.dump_id, s.allocation_index, s.value_id
FROM sizes AS s
INNER JOIN (
    SELECT dump_id, MAX(program_name) AS program_name FROM marts.observations_v1 GROUP BY dump_id
) AS o ON s.dump_id = o.dump_id
WHERE ABS(s.size_bytes - $size_bytes) <= $size_bytes * $off_percent / 100
ORDER BY ABS(s.size_bytes - $size_bytes), s.what, o.program_name, s.dump_id, s.allocation_index, s.value_id
LIMIT $rows
