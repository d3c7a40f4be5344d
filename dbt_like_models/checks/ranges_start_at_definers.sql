-- A live range starts at the line of the instruction that defines its value, that of a parameter where its computation
-- starts: at 0, but for parameters of loops and branches, which are phis (HloLiveRange::CalculateBufferStartEndMap).
-- The root of an asynchronous computation breaks it, starting one line late (libtpu 0.0.51).
-- severity: warn
WITH definers AS (
    SELECT v.dump_id, v.instruction_id, COALESCE(v.shape_index, '{}') AS shape_index, v.is_phi, t.opcode
    FROM raw.hlo_values AS v
    INNER JOIN raw.instruction_texts AS t
        ON v.dump_id = t.dump_id AND v.instruction_text_id = t.instruction_text_id
    WHERE t.opcode IS NOT NULL
),

ranges AS (
    SELECT r.*, i.instruction_name, i.schedule_position
    FROM raw.live_ranges AS r
    INNER JOIN raw.instructions AS i ON r.dump_id = i.dump_id AND r.instruction_id = i.instruction_id
)

SELECT
    r.dump_id,  -- The dump.
    CASE
        WHEN d.opcode <> 'parameter' THEN 'a start at ' || CAST(r.schedule_position AS VARCHAR)
        WHEN d.is_phi THEN 'a start at ' || CAST(r.schedule_position AS VARCHAR) || ' or before'
        ELSE 'a start at 0'
    END AS expected,  -- Where the range should start.
    r.instruction_name || r.shape_index || ':' || CAST(r.start_position AS VARCHAR) || '-'
    || CAST(r.end_position AS VARCHAR) AS found  -- The live range.
FROM ranges AS r
INNER JOIN definers AS d
    ON r.dump_id = d.dump_id AND r.instruction_id = d.instruction_id AND r.shape_index = d.shape_index
WHERE
    CASE
        WHEN d.opcode <> 'parameter' THEN r.start_position <> r.schedule_position
        WHEN d.is_phi THEN r.start_position > r.schedule_position
        ELSE r.start_position <> 0
    END
