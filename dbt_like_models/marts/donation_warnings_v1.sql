-- What JAX warns of in logs: arguments that were to be donated and that no output can take the place of, so that XLA never hears of the
-- donation. Each argument with the program that it is of, where that can be told without a guess.
-- grain: run_id, message_id, argument_number
-- portable: no, because JAX's shapes are read by functions of texts of DuckDB
SELECT
    w.run_id,  -- The run.
    r.run_name,  -- Its name.
    w.message_id,  -- What the warning says; equal in other runs that say it.
    w.argument_number,  -- Place of the argument in it, from 1.
    w.log_path,  -- The first log that says it, as seen from the run's root.
    w.line_number,  -- Line in which it begins there.
    w.shape_text,  -- The argument as printed, such as float32[8,4].
    w.array_shape,  -- Its shape as XLA writes it; null where the form is not known.
    w.is_unimplemented,  -- JAX adds that it donates nothing on this platform.
    j.dump_id,  -- The dump of the program; null where none is known to be meant.
    j.join_state,  -- joined, several programs fit as well, no program has such parameters, or an argument cannot be read.
    s.parameter_count,  -- Parameters of the program that it may be; of as many as arguments each is meant.
    COALESCE(s.parameter_count = s.argument_count, FALSE) AS is_certain,  -- Whether the parameters are known, too.
    w.fault_text  -- What is wrong with the warning: it is cut, say.
FROM intermediate.unused_donations AS w
INNER JOIN staging.runs AS r ON w.run_id = r.run_id
INNER JOIN intermediate.unused_donations_joined AS j ON w.run_id = j.run_id AND w.message_id = j.message_id
LEFT JOIN intermediate.unused_donation_shapes AS s
    ON w.run_id = s.run_id AND w.message_id = s.message_id AND w.array_shape = s.array_shape AND j.dump_id = s.dump_id
