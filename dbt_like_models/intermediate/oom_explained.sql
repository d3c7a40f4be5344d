-- Which of the dumps that a message may be about explain it. The main figure is the sum of their bytes, or the temporaries
-- and arguments are such sums beside what the program itself takes. For a failure at run time, they have an allocation of its
-- size. If no rule is about the message, they have what it names.
-- grain: run_id, message_id, dump_id
WITH sums AS (
    SELECT
        run_id,
        message_id,
        dump_id,
        BOOL_OR(figure_name = 'used' AND is_reproduced)
        -- If two programs have the same printed figure, the exact bytes of the report beside it decide.
        AND BOOL_AND(is_reproduced OR figure_name <> 'all_allocations') AS is_sum,
        BOOL_OR(figure_name = 'hlo_temp' AND rule_bytes > 0)
        AND BOOL_AND(is_reproduced OR figure_name NOT IN ('hlo_temp', 'arguments')) AS are_parts
    FROM intermediate.oom_sums
    GROUP BY run_id, message_id, dump_id
)

SELECT
    c.run_id,  -- The run.
    c.message_id,  -- The message.
    c.dump_id,  -- A dump that it may be about.
    c.dialect,  -- Its form.
    c.has_named,  -- The dump has what the message names.
    CASE
        WHEN c.dialect IN ('T1', 'T2', 'T3', 'T3b', 'T3r') AND c.fault_text IS NULL
            THEN COALESCE(s.is_sum OR s.are_parts, FALSE)
        WHEN c.dialect IN ('T8', 'G1', 'G2') AND c.fault_text IS NULL THEN c.has_size
        ELSE c.has_named
    END AS is_explained,  -- The dump explains the message.
    COALESCE(s.is_sum, FALSE) AS is_sum  -- The main figure is a sum of its bytes.
FROM intermediate.oom_sized AS c
LEFT JOIN sums AS s ON c.run_id = s.run_id AND c.message_id = s.message_id AND c.dump_id = s.dump_id
