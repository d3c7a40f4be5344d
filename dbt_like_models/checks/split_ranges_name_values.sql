-- The live ranges of a split dump belong to used values. If they do not, the files are of different dumps, which have no
-- common key that would tell. Two other kinds are legal: constants without an allocation, and values of a view's memory
-- space, which used values name as operands, users or positions (HloLiveRange::ToString lists values without an allocation,
-- too).
-- severity: warn
WITH stray AS (
    SELECT r.dump_id, r.instruction_id, r.shape_index
    FROM raw.live_ranges AS r
    INNER JOIN raw.dumps AS d ON r.dump_id = d.dump_id
    LEFT JOIN raw.hlo_values AS v
        ON
            r.dump_id = v.dump_id
            AND r.instruction_id = v.instruction_id
            AND r.shape_index = COALESCE(v.shape_index, '{}')
    WHERE d.file_layout = 'split' AND d.used_values_state = 'present' AND v.dump_id IS NULL
),

mentioned AS (
    SELECT dump_id, UNNEST(operand_instruction_ids) AS instruction_id FROM raw.instruction_texts
    WHERE dump_id IN (SELECT dump_id FROM stray)
    UNION
    SELECT dump_id, instruction_id FROM raw.uses
    WHERE dump_id IN (SELECT dump_id FROM stray)
    UNION
    SELECT dump_id, instruction_id FROM raw.positions
    WHERE dump_id IN (SELECT dump_id FROM stray)
)

SELECT
    s.dump_id,  -- The dump.
    'a live range of a used value' AS expected,  -- What the file of live ranges should show.
    i.instruction_name || s.shape_index AS found  -- A range of something that the used values do not know.
FROM stray AS s
INNER JOIN raw.instructions AS i ON s.dump_id = i.dump_id AND s.instruction_id = i.instruction_id
LEFT JOIN mentioned AS m ON s.dump_id = m.dump_id AND s.instruction_id = m.instruction_id
WHERE m.dump_id IS NULL
