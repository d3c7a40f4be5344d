-- What JAX calls element types (`numpy.dtype.name`, ml_dtypes), beside what XLA calls them (`primitive_util::LowercasePrimitiveTypeName`).
-- grain: dtype_name
SELECT
    dtype_name,  -- Name in Python.
    element_type  -- Name in XLA's shapes.
FROM (
    VALUES
    ('bool', 'pred'),
    ('int2', 's2'), ('int4', 's4'), ('int8', 's8'), ('int16', 's16'), ('int32', 's32'), ('int64', 's64'),
    ('uint2', 'u2'), ('uint4', 'u4'), ('uint8', 'u8'), ('uint16', 'u16'), ('uint32', 'u32'), ('uint64', 'u64'),
    ('bfloat16', 'bf16'), ('float16', 'f16'), ('float32', 'f32'), ('float64', 'f64'),
    ('complex64', 'c64'), ('complex128', 'c128'),
    ('float8_e5m2', 'f8e5m2'), ('float8_e4m3', 'f8e4m3'), ('float8_e4m3fn', 'f8e4m3fn'), ('float8_e3m4', 'f8e3m4'),
    ('float8_e4m3b11fnuz', 'f8e4m3b11fnuz'), ('float8_e5m2fnuz', 'f8e5m2fnuz'), ('float8_e4m3fnuz', 'f8e4m3fnuz'),
    ('float8_e8m0fnu', 'f8e8m0fnu'), ('float4_e2m1fn', 'f4e2m1fn')
) AS written (dtype_name, element_type)
