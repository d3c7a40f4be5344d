-- The nodes of stack trace trees (FormatNodeString, hlo_stack_trace.cc), each with its parent: the last node before it
-- that stands one step further out. A label may be any bytes, line feeds and whole fake nodes included. A tree with a
-- line that is no node of it, because it has no branch or what remains does not follow, is left out, and so is text
-- that is no UTF-8.
-- grain: dump_id, ordinal
WITH lines AS (
    SELECT
        dump_id,
        UNNEST(RANGE(ARRAY_LENGTH(STRING_SPLIT(stack_trace, CHR(10))))) - 1 AS ordinal,
        UNNEST(STRING_SPLIT(stack_trace, CHR(10))) AS line
    FROM staging.contents
    WHERE stack_trace IS NOT NULL AND text_encoding = 'utf-8'
),

nodes AS (
    SELECT
        dump_id,
        ordinal,
        -- A child of the root stands behind six spaces and a branch of four, the next behind four more.
        CASE WHEN ordinal = 0 THEN 0 ELSE STRPOS(line, '── ') // 4 - 1 END AS depth,
        -- From the end, where no label is: NAME (S%, total: N bytes, current: N bytes, remaining: N bytes)
        TRY_CAST(SPLIT_PART(SPLIT_PART(line, '%, total: ', -2), ' (', -1) AS DOUBLE) AS share_percent,
        TRY_CAST(REPLACE(SPLIT_PART(SPLIT_PART(line, ': ', -3), 'b', 1), ' ', '') AS BIGINT) AS total_bytes,
        TRY_CAST(REPLACE(SPLIT_PART(SPLIT_PART(line, ': ', -2), 'b', 1), ' ', '') AS BIGINT) AS current_bytes,
        TRY_CAST(REPLACE(SPLIT_PART(SPLIT_PART(line, ': ', -1), 'b', 1), ' ', '') AS BIGINT) AS remaining_bytes
    FROM lines
    WHERE ordinal >= 0 AND line <> ''
),

followed AS (
    SELECT
        *,
        LAG(remaining_bytes) OVER (PARTITION BY dump_id ORDER BY ordinal) - current_bytes AS expected_bytes,
        -- Up to there this is the last node that stands so far out.
        COALESCE(LEAD(ordinal) OVER (PARTITION BY dump_id, depth ORDER BY ordinal), 9223372036854775807) AS next_ordinal
    FROM nodes
)

SELECT
    n.dump_id,  -- The dump.
    n.ordinal,  -- Place in the tree as printed, from 0, the root.
    n.depth,  -- Steps from the root.
    p.ordinal AS parent_ordinal,  -- The node it hangs on; null for the root.
    n.share_percent,  -- Share of the peak, in percent.
    n.total_bytes,  -- Bytes of the node and all below it.
    n.current_bytes  -- Bytes of the node alone.
FROM followed AS n
LEFT JOIN followed AS p
    ON n.dump_id = p.dump_id AND n.depth = p.depth + 1 AND n.ordinal > p.ordinal AND n.ordinal < p.next_ordinal
WHERE n.dump_id NOT IN (
    SELECT dump_id FROM followed
    WHERE ordinal > 0 AND (depth < 1 OR remaining_bytes IS DISTINCT FROM expected_bytes)
)
