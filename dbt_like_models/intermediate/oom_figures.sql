-- The figures of messages beside the bytes that the message or its dump gives for them; excess and total follow from
-- other figures. A figure that no rule gives as it is printed is unknown; a message without figures has one empty row.
-- grain: run_id, message_id, figure_name
WITH known AS (
    SELECT * FROM intermediate.oom_known_figures
),

parts AS (
    SELECT
        run_id,
        message_id,
        MAX(CASE WHEN figure_name = 'used' THEN known_bytes END) AS used_bytes,
        MAX(CASE WHEN figure_name = 'capacity' THEN known_bytes END) AS capacity_bytes,
        MAX(CASE WHEN figure_name = 'reserved' THEN known_bytes END) AS reserved_bytes,
        MAX(CASE WHEN figure_name = 'scoped_size' THEN 1 ELSE 0 END) AS scoped_count
    FROM known
    GROUP BY run_id, message_id
),

derived AS (
    SELECT
        k.*,
        CASE
            WHEN k.is_known OR k.is_damaged THEN NULL
            WHEN k.figure_name = 'exceeded' AND p.scoped_count = 0 THEN p.used_bytes - p.capacity_bytes
            WHEN k.figure_name = 'total' THEN p.used_bytes + p.reserved_bytes
        END AS derived_bytes
    FROM known AS k
    INNER JOIN parts AS p ON k.run_id = p.run_id AND k.message_id = p.message_id
),

judged AS (
    SELECT
        *,
        COALESCE(derived_bytes BETWEEN least_bytes AND most_bytes, FALSE) AS is_derived
    FROM derived
)

SELECT
    run_id,  -- The run.
    message_id,  -- The message.
    dump_id,  -- The dump that it is about; null where none is known to be meant.
    join_state,  -- Which dump that is, or why there is none.
    is_explained,  -- The message names the module of the dump, or the dump explains it.
    ordinal,  -- Place of the figure in the message.
    figure_name,  -- What it is a figure of.
    printed_text,  -- The figure as printed.
    nominal_bytes,  -- Bytes that it names, one size of many that are printed so.
    CASE WHEN is_derived THEN derived_bytes ELSE known_bytes END AS figure_bytes,  -- Its bytes; null where unknown.
    CASE
        WHEN NOT is_derived THEN rule
        WHEN figure_name = 'total' THEN 'used and reserved'
        ELSE 'used without the capacity'
    END AS rule,  -- Which bytes it is the sum of; null where that is unknown.
    is_known OR is_derived AS is_reproduced,  -- Its bytes are printed as the figure is.
    CASE
        WHEN NOT (is_known OR is_derived OR is_damaged)
            THEN COALESCE(CASE WHEN derived_bytes > 0 THEN derived_bytes END, rule_bytes)
    END AS found_bytes  -- What the rule gives where that is not printed so; null elsewhere.
FROM judged
