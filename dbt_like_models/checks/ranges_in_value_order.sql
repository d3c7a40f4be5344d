-- Live ranges stand in the order of value ids (HloLiveRange::ToString goes through HloDataflowAnalysis::values).
-- severity: warn
WITH ranges AS (
    SELECT
        r.dump_id,
        MIN(v.value_id) AS value_id,
        LAG(MIN(v.value_id)) OVER (PARTITION BY r.dump_id ORDER BY r.ordinal) AS previous_value_id
    FROM raw.live_ranges AS r
    INNER JOIN raw.hlo_values AS v
        ON
            r.dump_id = v.dump_id
            AND r.instruction_id = v.instruction_id
            AND r.shape_index = COALESCE(v.shape_index, '{}')
    GROUP BY r.dump_id, r.ordinal
)

SELECT
    dump_id,  -- The dump.
    'the live range of a value behind ' || CAST(previous_value_id AS VARCHAR) AS expected,  -- The value before it.
    'value ' || CAST(value_id AS VARCHAR) AS found  -- The value that stands there.
FROM ranges
WHERE value_id < previous_value_id
