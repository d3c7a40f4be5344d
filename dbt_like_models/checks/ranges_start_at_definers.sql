-- A live range starts at the position of the instruction that defines its value. The range of a parameter starts where
-- its computation starts: at 0 for parameters of the entry, and later for parameters of loops and branches, which are
-- phis (HloLiveRange::CalculateBufferStartEndMap).
-- The result of an asynchronous computation starts with the instruction that starts it, one line late (libtpu 0.0.50.1
-- and later).
-- severity: warn
WITH ranges AS (
    SELECT
        v.dump_id,
        v.value_id,
        v.instruction_id,
        COALESCE(v.shape_index, '{}') AS shape_index,
        v.is_phi,
        v.start_position,
        v.end_position,
        t.opcode
    FROM staging.value_slots AS v
    INNER JOIN staging.instruction_results AS t
        ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
    WHERE v.start_position IS NOT NULL AND t.opcode IS NOT NULL
)

SELECT
    r.dump_id,  -- The dump.
    CASE
        WHEN r.opcode <> 'parameter' THEN 'a start at ' || CAST(i.schedule_position AS VARCHAR)
        WHEN r.is_phi THEN 'a start at ' || CAST(i.schedule_position AS VARCHAR) || ' or before'
        ELSE 'a start at 0'
    END AS expected,  -- Where the range should start.
    i.instruction_name || r.shape_index || ':' || CAST(r.start_position AS VARCHAR) || '-'
    || CAST(r.end_position AS VARCHAR) AS found  -- The live range.
FROM ranges AS r
INNER JOIN raw.instructions AS i ON r.dump_id = i.dump_id AND r.instruction_id = i.instruction_id
WHERE
    CASE
        WHEN r.opcode <> 'parameter' THEN r.start_position <> i.schedule_position
        WHEN r.is_phi THEN r.start_position > i.schedule_position
        ELSE r.start_position <> 0
    END
    AND NOT EXISTS (
        SELECT 1
        FROM raw.further_positions AS p
        INNER JOIN raw.instructions AS b ON p.dump_id = b.dump_id AND p.instruction_id = b.instruction_id
        WHERE
            p.dump_id = r.dump_id AND p.value_id = r.value_id AND p.shape_index = '{1}'
            AND b.schedule_position = r.start_position AND r.start_position = i.schedule_position + 1
    )
