-- Scoped memory of instructions: the lists used_scoped_memory_configs and scoped_memory_configs of a backend_config, which
-- is the last attribute of a text and is printed raw if it is JSON.
-- grain: dump_id, instruction_text_id, is_used, ordinal
WITH configs AS (
    SELECT
        dump_id,
        instruction_text_id,
        SPLIT_PART(instruction_text, ', backend_config={', -1) AS config
    FROM staging.instruction_texts
    WHERE CONTAINS(instruction_text, 'scoped_memory_configs":[{') AND CONTAINS(instruction_text, ', backend_config={')
),

lists AS (
    SELECT
        dump_id,
        instruction_text_id,
        TRUE AS is_used,
        REGEXP_EXTRACT(config, '"used_scoped_memory_configs":\[([^\[\]]*)\]', 1) AS list
    FROM configs
    UNION ALL
    SELECT
        dump_id,
        instruction_text_id,
        FALSE AS is_used,
        REGEXP_EXTRACT(config, '"scoped_memory_configs":\[([^\[\]]*)\]', 1) AS list
    FROM configs
),

entries AS (
    SELECT
        dump_id,
        instruction_text_id,
        is_used,
        UNNEST(RANGE(ARRAY_LENGTH(REGEXP_EXTRACT_ALL(list, '\{[^{}]*\}')))) AS ordinal,
        UNNEST(REGEXP_EXTRACT_ALL(list, '\{[^{}]*\}')) AS entry
    FROM lists
)

SELECT
    dump_id,  -- The dump.
    instruction_text_id,  -- The instruction.
    is_used,  -- Whether it is taken, or what may be taken.
    ordinal,  -- Place in the list, from 0.
    CASE
        WHEN CONTAINS(entry, '"memory_space":')
            THEN TRY_CAST(REGEXP_EXTRACT(entry, '"memory_space":"?([0-9]+)', 1) AS BIGINT)
        ELSE 0
    END AS memory_space,  -- Memory space; 0 is the default and may not be printed.
    TRY_CAST(REGEXP_EXTRACT(entry, '"offset":"?([0-9]+)', 1) AS BIGINT) AS offset_bytes,  -- Where it begins.
    TRY_CAST(REGEXP_EXTRACT(entry, '"size":"?([0-9]+)', 1) AS BIGINT) AS size_bytes  -- Its bytes.
FROM entries
