-- The arguments of a dump that could be donated: an output of their shape could be placed on them.
-- grain: parameter_allocation_index
-- parameters: dump_id
SELECT
    parameter_allocation_index,  -- Allocation of the parameter.
    parameter_number,  -- Entry parameter.
    parameter_shape_index,  -- Which leaf of the parameter.
    size_bytes  -- Bytes that donating it saves.
FROM marts.donation_candidates_v2
WHERE dump_id = $dump_id AND memory_space = 0
ORDER BY size_bytes DESC, parameter_allocation_index
