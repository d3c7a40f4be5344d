-- What each source calls a memory space, if it has a name for it. A number means something else on each platform, and
-- upstream's own tools contradict each other: each name has its source, since when it is used, and when it was read.
-- trust says which source is preferred: first code that defines the numbers or gives them to the compiler (1), then XLA's
-- own documents (2), what dumps show in a space (3), and last viewers, which only label what they are given (4 to 6).
-- grain: platform, memory_space, said_by
WITH sources (source_key, said_by, trust, read_on) AS (
    VALUES
    ('jax', 'JAX tpu_custom_call.MemorySpace', 1, '2026-08-08'),
    ('gpu', 'XLA gpu_memory_space_assignment.h', 1, '2026-08-22'),
    ('stream', 'XLA stream_executor/memory_space.h', 1, '2026-08-22'),
    ('shapes', 'XLA docs/shapes.md', 2, '2026-08-22'),
    ('layout', 'XLA layout.h', 2, '2026-08-22'),
    ('dumps', 'dumps of libtpu 0.0.8 to 0.0.51', 3, '2026-08-22'),
    ('curated', 'XProf labs/curated GetMemorySpaceName', 4, '2026-08-21'),
    ('viewer', 'XProf memory_viewer_control', 5, '2026-08-21'),
    ('report', 'XLA memory-usage-report GetMemorySpaceName', 6, '2026-08-22')
),

names (platform, memory_space, source_key, memory_space_name, since) AS (
    VALUES
    ('tpu', 0, 'jax', 'HBM', '2024-08-22'), ('tpu', 1, 'jax', 'VMEM', '2024-08-22'),
    ('tpu', 2, 'jax', 'SEMAPHORE_MEM', '2024-09-02'), ('tpu', 4, 'jax', 'SMEM', '2025-01-04'),
    ('tpu', 5, 'jax', 'HOST', '2025-08-14'), ('tpu', 8, 'jax', 'SC_SCALAR_SEMAPHORE_MEM', '2025-12-08'),
    ('tpu', 10, 'jax', 'SC_VECTOR_SEMAPHORE_MEM', '2026-06-22'), ('tpu', 11, 'jax', 'SC_SCALAR_SMEM', '2026-07-27'),
    ('tpu', 12, 'jax', 'SC_VECTOR_SMEM', '2026-07-27'),
    ('tpu', 0, 'shapes', 'HBM', NULL), ('tpu', 1, 'shapes', 'VMEM', NULL),
    ('tpu', 1, 'layout', 'generic fast memory', NULL), ('tpu', 5, 'layout', 'host', NULL),
    ('tpu', 6, 'dumps', 'SMEM of scalars', NULL), ('tpu', 7, 'dumps', 'tuple tables of SparseCore', NULL),
    ('tpu', 0, 'curated', 'HBM', '2026-06-19'), ('tpu', 1, 'curated', 'VMem', '2026-06-19'),
    ('tpu', 2, 'curated', 'Sflag', '2026-06-19'), ('tpu', 3, 'curated', 'CMem', '2026-06-19'),
    ('tpu', 4, 'curated', 'SMem', '2026-06-19'), ('tpu', 5, 'curated', 'System Memory', '2026-06-19'),
    ('tpu', 6, 'curated', 'Workspace Register', '2026-06-19'), ('tpu', 9, 'curated', 'Pinned HBM', '2026-06-19'),
    ('tpu', 7, 'curated', 'SparseCore Private Stack HBM', '2026-06-19'),
    ('tpu', 8, 'curated', 'SparseCore Sequencer Sflag', '2026-06-19'),
    ('tpu', 10, 'curated', 'SparseCore Tile Sflag', '2026-06-19'),
    ('tpu', 0, 'viewer', 'HBM', '2025-04-02'), ('tpu', 1, 'viewer', 'VMEM', '2025-04-02'),
    ('tpu', 2, 'viewer', 'Sflag', '2025-04-02'), ('tpu', 3, 'viewer', 'CMEM', '2025-04-02'),
    ('tpu', 4, 'viewer', 'SMEM', '2025-04-02'), ('tpu', 5, 'viewer', 'Host', '2025-04-02'),
    ('tpu', 6, 'viewer', 'SparseCore', '2025-04-02'),
    ('tpu', 0, 'report', 'default', '2026-03-10'), ('tpu', 1, 'report', 'vmem', '2026-03-10'),
    ('tpu', 2, 'report', 'smem', '2026-03-10'), ('tpu', 3, 'report', 'hbm', '2026-03-10'),
    ('tpu', 4, 'report', 'host', '2026-03-10'), ('tpu', 5, 'report', 'cmem', '2026-03-10'),
    ('gpu', 0, 'stream', 'device', NULL), ('gpu', 1, 'gpu', 'collective', '2024-01'),
    ('gpu', 2, 'gpu', 'temp buffer', '2024-06'), ('gpu', 5, 'layout', 'host', NULL),
    ('gpu', 6, 'layout', 'unpinned host', '2026-05-15'), ('gpu', 0, 'report', 'default', '2026-03-10'),
    ('gpu', 1, 'report', 'vmem', '2026-03-10'), ('cpu', 0, 'report', 'default', '2026-03-10'),
    ('cpu', 5, 'layout', 'host', NULL)
)

SELECT
    n.platform,  -- cpu, gpu or tpu.
    CAST(n.memory_space AS BIGINT) AS memory_space,  -- Memory space; 0 is the default and is not printed.
    s.said_by,  -- Who calls it so: project, and file or function.
    n.memory_space_name,  -- What it is called there.
    n.since,  -- Day or month on which the name came in; null where that was not looked up.
    CAST(s.read_on AS DATE) AS read_on,  -- Date of the revision it was read in.
    CAST(s.trust AS BIGINT) AS trust  -- Order of preference among sources, 1 first.
FROM names AS n
INNER JOIN sources AS s ON n.source_key = s.source_key
