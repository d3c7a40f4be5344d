-- What XProf's memory viewer shows of each memory space of a dump, as its source computes it
-- (xprof/convert/hlo_proto_to_memory_visualization_utils.cc of 2026). Nobody compared it with what XProf shows.
-- grain: run_id, relative_path, number_name, memory_space
WITH held AS (
    SELECT DISTINCT dump_id, allocation_index
    FROM staging.hlo_values
    WHERE size_bytes > 0
),

sizes AS (
    SELECT
        a.dump_id,
        a.memory_space,
        SUM(a.size_bytes) AS allocated_bytes,
        SUM(CASE WHEN a.kind = 'temp' THEN 1 ELSE 0 END) AS temp_count,
        -- An allocation without a value of any size has no buffer that is shown.
        SUM(CASE WHEN a.kind <> 'temp' AND h.dump_id IS NOT NULL THEN a.size_bytes ELSE 0 END) AS indefinite_bytes,
        SUM(CASE WHEN a.parameter_number IS NOT NULL THEN a.size_bytes ELSE 0 END) AS parameter_bytes,
        SUM(CASE WHEN a.is_maybe_live_out THEN a.size_bytes ELSE 0 END) AS output_bytes
    FROM staging.allocations AS a
    LEFT JOIN held AS h ON a.dump_id = h.dump_id AND a.allocation_index = h.allocation_index
    GROUP BY a.dump_id, a.memory_space
),

temps AS (
    SELECT dump_id, SUM(temp_count) AS temp_count FROM sizes
    GROUP BY dump_id
),

named AS (
    SELECT *
    FROM (
        VALUES
        (40, 'peak_heap_mib', 'kept_and_replay'),
        (41, 'total_buffer_allocation_mib', 'allocations_of_space'),
        (42, 'entry_computation_parameters_mib', 'parameters_of_space'),
        (43, 'maybe_live_out_mib', 'outputs_of_space')
    ) AS numbers (number_order, number_name, rule)
),

seen AS (
    SELECT
        o.run_id,
        o.relative_path,
        o.dump_id,
        o.heap_events_id,
        s.memory_space,
        n.number_order,
        n.number_name,
        n.rule,
        CASE n.rule
            WHEN 'allocations_of_space' THEN s.allocated_bytes
            WHEN 'parameters_of_space' THEN s.parameter_bytes
            WHEN 'outputs_of_space' THEN s.output_bytes
        END AS summed_bytes,
        s.indefinite_bytes,
        t.temp_count,
        v.choice_count,
        v.allocation_count,
        v.replayed_bytes
    FROM staging.observations AS o
    INNER JOIN sizes AS s ON o.dump_id = s.dump_id
    INNER JOIN temps AS t ON o.dump_id = t.dump_id
    CROSS JOIN named AS n
    LEFT JOIN intermediate.viewed_traces AS v
        ON o.dump_id = v.dump_id AND o.heap_events_id = v.heap_events_id AND s.memory_space = v.memory_space
),

computed AS (
    SELECT
        *,
        CASE
            WHEN rule <> 'kept_and_replay' THEN summed_bytes
            WHEN choice_count > 1 OR allocation_count > 1 THEN NULL
            WHEN heap_events_id IS NOT NULL THEN indefinite_bytes + COALESCE(replayed_bytes, 0)
            WHEN temp_count = 0 THEN indefinite_bytes
        END AS computed_bytes
    FROM seen
)

SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    CAST(number_order AS BIGINT) AS number_order,  -- Its place among the numbers.
    'XProf' AS said_by,  -- Who says it.
    number_name,  -- What it is called there; XProf shows MiB.
    memory_space,  -- The memory space that it is of.
    rule,  -- The rule in its source.
    'XProf of 2026' AS since_text,  -- The source that was read.
    FALSE AS is_compared,  -- It never was.
    CAST(computed_bytes AS BIGINT) AS computed_bytes,  -- What the rule gives.
    CASE
        WHEN computed_bytes IS NOT NULL THEN 'not stored'
        WHEN choice_count > 1 THEN 'unknown'
        WHEN allocation_count > 1 THEN 'not reported'
        ELSE 'not in the dump'
    END AS verdict,  -- Whether there is a number, and what is known of it.
    CASE
        WHEN computed_bytes IS NOT NULL THEN 'read in its source, not compared with what it shows'
        WHEN choice_count > 1 THEN 'it replays one of ' || CAST(choice_count AS VARCHAR) || ' heap traces, any of them'
        WHEN allocation_count > 1 THEN 'it refuses a heap trace whose values lie in several allocations'
        ELSE 'only a proto tells the heap trace that is replayed; without it the rule gives '
            || CAST(CAST(indefinite_bytes AS BIGINT) AS VARCHAR) || ' bytes'
    END AS why_text  -- Why there are no bytes, or how far they are to be trusted.
FROM computed
