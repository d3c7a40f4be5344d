-- Values that must have the same bytes, from protos.
-- grain: alias_sets_id, value_id
SELECT
    alias_sets_id,  -- The sets of a proto.
    first_value_id,  -- The set, called by its value with the smallest id.
    value_id  -- A value of it.
FROM raw.alias_sets
