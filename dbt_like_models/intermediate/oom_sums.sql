-- What the rules of a message's figures give for each dump that it may be about, and whether that is printed so.
-- grain: run_id, message_id, dump_id, figure_name
WITH summed AS (
    SELECT
        c.run_id,
        c.message_id,
        c.dump_id,
        r.figure_name,
        r.size_bytes,
        r.least_bytes,
        r.most_bytes,
        r.rule,
        CASE WHEN r.is_of_parameters THEN COALESCE(p.parameter_bytes, 0) ELSE 0 END
        + CASE
            WHEN NOT r.is_of_temporaries THEN 0
            -- In its list of what the program takes, libtpu counts what it allocates: multiples of 16 KiB.
            WHEN c.dialect IN ('T1', 'T2') THEN (COALESCE(p.temp_bytes, 0) + 16383) // 16384 * 16384
            ELSE COALESCE(p.temp_bytes, 0)
        END
        + CASE WHEN r.is_of_outputs THEN COALESCE(p.output_bytes, 0) ELSE 0 END
        + CASE WHEN r.is_of_shared THEN COALESCE(p.shared_bytes, 0) ELSE 0 END
        + CASE WHEN r.is_of_constants THEN COALESCE(p.constant_bytes, 0) ELSE 0 END
        + CASE WHEN r.is_of_thread_local THEN COALESCE(p.other_bytes - p.constant_bytes, 0) ELSE 0 END AS rule_bytes
    FROM intermediate.oom_candidates AS c
    INNER JOIN intermediate.oom_ruled_figures AS r ON c.run_id = r.run_id AND c.message_id = r.message_id
    LEFT JOIN intermediate.oom_parts AS p ON c.dump_id = p.dump_id
)

SELECT
    run_id,  -- The run.
    message_id,  -- The message.
    dump_id,  -- A dump that it may be about.
    figure_name,  -- The figure.
    rule,  -- The rule that it follows.
    CAST(rule_bytes AS BIGINT) AS rule_bytes,  -- What the rule gives.
    COALESCE(
        rule_bytes BETWEEN least_bytes AND most_bytes AND (size_bytes IS NULL OR size_bytes = rule_bytes), FALSE
    ) AS is_reproduced  -- That is printed as the figure is.
FROM summed
