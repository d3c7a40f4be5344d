-- Why donations that were requested were lost in the dumps of a run.
-- grain: dump_id, parameter_number, parameter_shape_index, relative_path
-- parameters: run_id, dump_ids (the dumps)
SELECT
    dump_id,  -- The dump.
    parameter_number,  -- Entry parameter.
    parameter_shape_index,  -- Which leaf of it.
    relative_path,  -- The file it was seen as.
    -- What JAX cannot use the user's program still donates, though XLA never hears of it.
    BOOL_OR(is_requested OR COALESCE(is_unusable, FALSE)) AS is_requested,  -- Whether the program offers it.
    MIN(reason) AS reason  -- Why it was lost.
FROM marts.donations_v2
WHERE run_id = $run_id AND dump_id IN ($dump_ids)
GROUP BY dump_id, parameter_number, parameter_shape_index, relative_path
ORDER BY ALL
