-- The memory of one device by its kind, for runs that do not say it: what its maker documents for one chip or, if the
-- compiler or the driver says something else, what these say, in MiB. The names are those that JAX and people use. Memory
-- that the compiler or the driver keeps for itself is included.
-- grain: device_kind
SELECT
    device_kind,  -- Device as a run calls it.
    CAST(memory_mib AS BIGINT) * 1048576 AS memory_bytes,  -- Memory of one, in bytes.
    said_by  -- Document, compiler or tool that says so.
FROM (
    VALUES
    -- JAX calls the efficient line lite: a v5e is a TPU v5 lite, and a v5p a TPU v5.
    ('TPU v2', 8192, 'Google Cloud, System architecture: TPU v2, HBM per core, which is a device'),
    ('TPU v3', 16384, 'Google Cloud, System architecture: TPU v3, HBM per core, which is a device'),
    ('TPU v4', 32768, 'Google Cloud, TPU v4: HBM2 capacity per chip'),
    ('TPU v5 lite', 16384, 'Google Cloud, TPU v5e: HBM capacity per chip'),
    ('TPU v5e', 16384, 'Google Cloud, TPU v5e: HBM capacity per chip'),
    ('TPU v5', 98304, 'libtpu 0.0.52, out-of-memory messages: what fits and what is reserved'),
    ('TPU v5p', 98304, 'libtpu 0.0.52, out-of-memory messages: what fits and what is reserved'),
    ('TPU v6 lite', 32256, 'libtpu 0.0.52, out-of-memory messages: what fits and what is reserved'),
    ('TPU v6e', 32256, 'libtpu 0.0.52, out-of-memory messages: what fits and what is reserved'),
    ('TPU7x', 97280, 'libtpu 0.0.52, out-of-memory messages: what fits and what is reserved'),
    ('TPU v7x', 97280, 'libtpu 0.0.52, out-of-memory messages: what fits and what is reserved'),
    -- Of some less than their data sheets say, because error correction takes a part.
    ('Tesla T4', 15360, 'nvidia-smi, total memory'),
    ('NVIDIA A10G', 23028, 'nvidia-smi, total memory'),
    ('NVIDIA L4', 23034, 'nvidia-smi, total memory'),
    ('NVIDIA L40S', 46068, 'nvidia-smi, total memory'),
    ('NVIDIA A100-SXM4-40GB', 40960, 'nvidia-smi, total memory'),
    ('NVIDIA A100-SXM4-80GB', 81920, 'nvidia-smi, total memory'),
    ('NVIDIA A100 80GB PCIe', 81920, 'nvidia-smi, total memory'),
    ('NVIDIA H100 80GB HBM3', 81559, 'nvidia-smi, total memory'),
    ('NVIDIA H100 PCIe', 81559, 'nvidia-smi, total memory'),
    ('NVIDIA H100 NVL', 95830, 'nvidia-smi, total memory'),
    ('NVIDIA GH200 480GB', 97871, 'nvidia-smi, total memory'),
    ('NVIDIA H200', 143771, 'nvidia-smi, total memory'),
    ('NVIDIA B200', 183359, 'nvidia-smi, total memory'),
    ('NVIDIA GB200', 189471, 'nvidia-smi, total memory'),
    ('NVIDIA B300 SXM6 AC', 275040, 'nvidia-smi, total memory'),
    ('NVIDIA GB300', 284208, 'nvidia-smi, total memory')
) AS written (device_kind, memory_mib, said_by)
