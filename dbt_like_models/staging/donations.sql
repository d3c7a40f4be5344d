-- Leaves of parameters that module texts offer, so that XLA can place an output on them.
-- grain: donations_id, parameter_number, parameter_shape_index
SELECT
    donations_id,  -- What a module text offers.
    parameter_number,  -- Entry parameter.
    parameter_shape_index,  -- Which leaf of it.
    output_shape_index,  -- Leaf of the output that is placed on it; null for none.
    kind  -- may-alias, must-alias, or buffer-donor where no output is placed on it.
FROM raw.donations
