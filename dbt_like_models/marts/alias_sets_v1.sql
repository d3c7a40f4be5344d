-- Values that must have the same bytes (HloBuffer), from protos beside dumps. Equal sets are stored once;
-- `observation_protos` names those of a dump.
-- grain: alias_sets_id, value_id
-- portable: yes
SELECT
    alias_sets_id,  -- The sets of a proto.
    first_value_id,  -- The set, called by its value with the smallest id.
    value_id  -- A value of it.
FROM staging.alias_sets
