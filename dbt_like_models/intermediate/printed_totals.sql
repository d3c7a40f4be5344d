-- The total that a dump prints, beside the sum of its allocations.
-- grain: run_id, relative_path, number_name
SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    dump_id,  -- Its content.
    CAST(20 AS BIGINT) AS number_order,  -- Its place among the numbers.
    'the dump' AS said_by,  -- Who says it.
    'Total bytes used' AS number_name,  -- What it is called there.
    'all_allocations' AS rule,  -- The rule that it follows.
    'XLA of October 2019' AS since_text,  -- First version that is known to follow it.
    TRUE AS is_compared,  -- Whether the rule was compared with what compilers print.
    allocated_bytes AS computed_bytes,  -- What the rule gives.
    total_bytes AS printed_bytes,  -- What is printed.
    CASE
        WHEN total_bytes IS NULL THEN 'not stored'
        WHEN total_bytes = allocated_bytes THEN 'agrees'
        ELSE 'differs'
    END AS verdict,  -- Whether it is what the bytes give.
    CASE
        WHEN is_proto THEN 'the dump is a proto, which prints nothing'
        WHEN total_bytes IS NULL THEN 'the dump does not print it'
    END AS why_text  -- Why nothing stands against it.
FROM intermediate.printed_facts
