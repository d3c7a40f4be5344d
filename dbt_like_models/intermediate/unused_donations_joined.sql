-- The dump that each warning about donations is of: the only one of its run that has a parameter for each argument. Nothing is
-- guessed: where several have, or an argument has a form that is not known, there is none.
-- grain: run_id, message_id
WITH wanted AS (
    SELECT
        run_id,
        message_id,
        COUNT(*) AS argument_count,
        COUNT(DISTINCT array_shape) AS shape_count,
        BOOL_AND(array_shape IS NOT NULL AND fault_text IS NULL) AS is_readable
    FROM intermediate.unused_donations
    GROUP BY run_id, message_id
),

fitting AS (
    SELECT run_id, message_id, dump_id, COUNT(*) AS shape_count
    FROM intermediate.unused_donation_shapes
    GROUP BY run_id, message_id, dump_id
),

chosen AS (
    SELECT w.run_id, w.message_id, COUNT(f.dump_id) AS dump_count, MIN(f.dump_id) AS dump_id
    FROM wanted AS w
    INNER JOIN fitting AS f
        ON w.run_id = f.run_id AND w.message_id = f.message_id AND w.shape_count = f.shape_count
    WHERE w.is_readable
    GROUP BY w.run_id, w.message_id
)

SELECT
    w.run_id,  -- The run.
    w.message_id,  -- The warning.
    CASE WHEN c.dump_count = 1 THEN c.dump_id END AS dump_id,  -- The dump; null where none is known to be meant.
    CASE
        WHEN NOT w.is_readable THEN 'an argument cannot be read'
        WHEN c.dump_count = 1 THEN 'joined'
        WHEN c.dump_count > 1 THEN 'several programs fit as well'
        ELSE 'no program has such parameters'
    END AS join_state  -- Whether the program is known, and why not.
FROM wanted AS w
LEFT JOIN chosen AS c ON w.run_id = c.run_id AND w.message_id = c.message_id
