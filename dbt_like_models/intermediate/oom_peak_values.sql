-- What takes the default memory space if it is too small: the values at the occupied peak of the dump of a message, and for
-- each allocation the bytes that they leave. Together they are all allocations of the dump, to the byte.
-- grain: run_id, message_id, part, ordinal
WITH subjects AS (
    SELECT * FROM intermediate.oom_subjects WHERE is_of_default
),

owners AS (
    SELECT * FROM intermediate.peak_owners WHERE memory_space = 0 AND dump_id IN (SELECT dump_id FROM subjects)
),

owned AS (
    SELECT
        dump_id,
        allocation_index,
        SUM(owned_bytes) AS owned_bytes
    FROM owners
    GROUP BY dump_id, allocation_index
),

parts AS (
    SELECT dump_id, 'value' AS part, allocation_index, value_id, kind, NULL AS shape_text, owned_bytes, size_bytes,
        layout_padding_bytes,
        ROW_NUMBER() OVER (PARTITION BY dump_id ORDER BY owned_bytes DESC, value_id) - 1 AS ordinal
    FROM owners
    UNION ALL
    SELECT a.dump_id, 'not taken at the peak', a.allocation_index, NULL, a.kind,
        COALESCE(a.parameter_shape, a.output_shape), a.size_bytes - COALESCE(o.owned_bytes, 0), a.size_bytes, NULL,
        a.allocation_index
    FROM staging.allocations AS a
    LEFT JOIN owned AS o ON a.dump_id = o.dump_id AND a.allocation_index = o.allocation_index
    WHERE a.memory_space = 0 AND a.dump_id IN (SELECT dump_id FROM subjects)
        AND a.size_bytes > COALESCE(o.owned_bytes, 0)
)

SELECT
    j.run_id,  -- The run.
    j.message_id,  -- The message.
    p.dump_id,  -- The dump.
    j.is_explained,  -- The message names its module, or it explains the message.
    p.part,  -- value, or not taken at the peak.
    p.ordinal,  -- Place in its part, from 0.
    p.allocation_index,  -- Allocation that holds it.
    p.value_id,  -- The value; null for what no value takes.
    p.kind,  -- parameter, output, constant, temp or thread-local.
    p.shape_text,  -- Shape of the allocation, where no value takes it.
    p.owned_bytes,  -- Bytes that count for it.
    p.size_bytes,  -- Its slot, or the allocation.
    p.layout_padding_bytes,  -- Of the owned bytes: what tiles add.
    CASE p.kind
        WHEN 'parameter' THEN j.is_of_parameters
        WHEN 'temp' THEN j.is_of_temporaries
        WHEN 'output' THEN j.is_of_outputs
        WHEN 'constant' THEN j.is_of_constants
        ELSE FALSE -- No rule of a main figure counts thread-local ones.
    END AS is_in_figure  -- The main figure counts it.
FROM subjects AS j
INNER JOIN parts AS p ON j.dump_id = p.dump_id
