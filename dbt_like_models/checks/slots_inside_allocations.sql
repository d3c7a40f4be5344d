-- Every slot lies inside its allocation. It only warns, because preset regions and merged private stacks may break it.
-- severity: warn
SELECT
    dump_id,  -- The dump.
    'offset + size <= ' || CAST(size_bytes AS VARCHAR) AS expected,  -- The size of the allocation.
    'value ' || CAST(first_value_id AS VARCHAR) || ' and others reach up to '
    || CAST(reached_bytes AS VARCHAR) AS found  -- The first value beyond it, and how far such values reach.
FROM intermediate.overlong_allocations
