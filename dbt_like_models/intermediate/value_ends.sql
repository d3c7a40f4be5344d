-- What keeps a value alive up to the end of its live range (HloLiveRange::ComputeBufferLiveRanges).
-- grain: dump_id, value_id
WITH printed AS (
    SELECT
        dump_id,
        value_id,
        COUNT(*) AS use_count,
        MIN(schedule_position) AS first_user_position,
        MAX(schedule_position) AS last_user_position
    FROM staging.uses
    GROUP BY dump_id, value_id
)

SELECT
    s.dump_id,  -- The dump.
    s.value_id,  -- The value.
    CAST(COALESCE(u.use_count, 0) AS BIGINT) AS use_count,  -- Uses as printed.
    CASE
        WHEN u.first_user_position > s.end_position THEN s.end_position ELSE u.first_user_position
    END AS first_use_position,  -- First position at which it is used.
    CASE
        WHEN s.end_position = d.max_position AND s.kind = 'parameter' THEN 'argument'
        WHEN s.end_position = d.max_position THEN 'result'
        WHEN u.last_user_position > s.end_position THEN 'handed on'
        WHEN u.last_user_position = s.end_position THEN 'use'
        WHEN u.last_user_position IS NULL AND s.start_position = s.end_position THEN 'nothing'
        -- The state of a loop lives to the end of the computation that is its condition.
        WHEN v.is_phi OR c.value_id IS NOT NULL THEN 'computation'
        ELSE 'alias set'
    END AS kept_by,  -- use, handed on, argument, result, computation, alias set or nothing.
    n.instruction_name AS successor_name  -- Instruction whose value goes on with its bytes.
FROM intermediate.slots AS s
INNER JOIN staging.contents AS d ON s.dump_id = d.dump_id
INNER JOIN staging.hlo_values AS v ON s.dump_id = v.dump_id AND s.value_id = v.value_id
LEFT JOIN printed AS u ON s.dump_id = u.dump_id AND s.value_id = u.value_id
LEFT JOIN intermediate.computation_results AS c ON s.dump_id = c.dump_id AND s.value_id = c.value_id
LEFT JOIN intermediate.successors AS x ON s.dump_id = x.dump_id AND s.value_id = x.value_id
LEFT JOIN staging.hlo_values AS n ON x.dump_id = n.dump_id AND x.successor_value_id = n.value_id
