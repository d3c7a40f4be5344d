-- The bytes of what XProf's memory viewer shows of each memory space of a dump.
-- grain: run_id, relative_path, number_name, memory_space
WITH sizes AS (
    SELECT * FROM intermediate.xprof_sizes
),

temps AS (
    SELECT dump_id, SUM(temp_count) AS temp_count FROM sizes
    GROUP BY dump_id
)

SELECT
    o.run_id,  -- The run.
    o.relative_path,  -- The file.
    o.dump_id,  -- Its content.
    s.memory_space,  -- The memory space.
    n.number_order,  -- Its place among the numbers.
    n.number_name,  -- What it is called there.
    n.figure AS rule,  -- The rule in its source.
    s.indefinite_bytes,  -- The part of the peak that needs no replay.
    v.choice_count,  -- Heap traces that may be replayed.
    v.allocation_count,  -- Allocations that the values of the trace lie in.
    CASE
        WHEN n.figure = 'allocations_of_space' THEN s.allocated_bytes
        WHEN n.figure = 'parameters_of_space' THEN s.parameter_bytes
        WHEN n.figure = 'outputs_of_space' THEN s.output_bytes
        WHEN v.choice_count > 1 OR v.allocation_count > 1 THEN NULL
        WHEN o.heap_events_id IS NOT NULL THEN s.indefinite_bytes + COALESCE(v.replayed_bytes, 0)
        -- Where there are no temporaries at all, no trace has anything to replay.
        WHEN t.temp_count = 0 THEN s.indefinite_bytes
    END AS computed_bytes  -- What the rule gives; null where it gives nothing.
FROM staging.observations AS o
INNER JOIN sizes AS s ON o.dump_id = s.dump_id
INNER JOIN temps AS t ON o.dump_id = t.dump_id
INNER JOIN intermediate.number_names AS n ON n.said_by = 'XProf'
LEFT JOIN intermediate.viewed_traces AS v
    ON o.dump_id = v.dump_id AND o.heap_events_id = v.heap_events_id AND s.memory_space = v.memory_space
