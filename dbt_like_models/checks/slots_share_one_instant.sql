-- Values share bytes at one instant at most, where one ends and the other starts (BufferAssigner::MaybeAssignBuffer,
-- HloOrdering::LiveRangeStrictlyBefore). Operands of a conditional in VMEM break it (libtpu 0.0.51): their bytes are
-- used again inside a branch. In an allocation with strict overlap many values may just meet at one instant: legal.
-- severity: warn
SELECT
    dump_id,  -- The dump.
    'bytes of allocation ' || CAST(allocation_index AS VARCHAR) || ' free from '
    || CAST(MIN(start_position) AS VARCHAR) AS expected,  -- When a value starts.
    'value ' || CAST(value_id AS VARCHAR) || ' in bytes taken until ' || CAST(MAX(reached_position) AS VARCHAR)
        AS found  -- The value, and until when another holds some of its bytes.
FROM intermediate.swept_slots
-- A value that starts before another one has ended shares more than an instant with it.
WHERE reached_position > start_position
GROUP BY dump_id, allocation_index, value_id
