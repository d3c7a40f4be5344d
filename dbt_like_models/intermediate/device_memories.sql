-- The memory of one device by its kind, for runs that do not say it: what its maker documents of one chip, in GiB, under the
-- names that JAX and people give it. What the compiler keeps for itself is not taken off.
-- grain: device_kind
SELECT
    device_kind,  -- Device as a run calls it.
    CAST(memory_gib AS BIGINT) * 1073741824 AS memory_bytes,  -- Memory of one, in bytes.
    said_by  -- Document that says so.
FROM (
    VALUES
    -- JAX calls the efficient line lite: a v5e is a TPU v5 lite, and a v5p a TPU v5.
    ('TPU v2', 8, 'Google Cloud, System architecture: TPU v2, HBM per core, which is a device'),
    ('TPU v3', 16, 'Google Cloud, System architecture: TPU v3, HBM per core, which is a device'),
    ('TPU v4', 32, 'Google Cloud, TPU v4: HBM2 capacity per chip'),
    ('TPU v5 lite', 16, 'Google Cloud, TPU v5e: HBM capacity per chip'),
    ('TPU v5e', 16, 'Google Cloud, TPU v5e: HBM capacity per chip'),
    ('TPU v5', 95, 'Google Cloud, TPU v5p: HBM capacity per chip'),
    ('TPU v5p', 95, 'Google Cloud, TPU v5p: HBM capacity per chip'),
    ('TPU v6 lite', 32, 'Google Cloud, TPU v6e: HBM capacity per chip'),
    ('TPU v6e', 32, 'Google Cloud, TPU v6e: HBM capacity per chip'),
    ('NVIDIA A100-SXM4-40GB', 40, 'NVIDIA A100 datasheet: GPU memory'),
    ('NVIDIA A100-SXM4-80GB', 80, 'NVIDIA A100 datasheet: GPU memory'),
    ('NVIDIA H100 80GB HBM3', 80, 'NVIDIA H100 datasheet: GPU memory')
) AS written (device_kind, memory_gib, said_by)
