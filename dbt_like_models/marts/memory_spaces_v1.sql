-- The names of memory spaces, by platform and by source. Upstream's own tools contradict each
-- other: 5 is the host to XLA and JAX, and cmem in XLA's memory-usage-report; 6 is SparseCore in one part of XProf and
-- a workspace register in another; the report calls space 1 of a GPU vmem. A space has one preferred name each.
-- grain: platform, memory_space, said_by
-- portable: yes
WITH ranked AS (
    SELECT
        *,
        FIRST_VALUE(memory_space_name) OVER (PARTITION BY platform, memory_space ORDER BY trust) AS preferred_name
    FROM intermediate.memory_space_names
)

SELECT
    platform,  -- cpu, gpu or tpu.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    preferred_name,  -- The name that bufferhouse uses: of who gives or defines the number, where it can be had.
    said_by,  -- Who calls it by the name that follows: project, and file or function.
    memory_space_name,  -- What it is called there.
    since,  -- Day or month on which that name came in; null where it was not looked up.
    read_on,  -- Date of the revision it was read in.
    lower(memory_space_name) <> lower(preferred_name) AS is_other_name  -- Whether it is another name, case apart.
FROM ranked
