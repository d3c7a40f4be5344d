-- The constant stride of an allocation: the most frequent distance of neighboring offsets, if it occurs at least twice;
-- the smaller one of two equally frequent distances.
-- grain: dump_id, allocation_index
WITH ranked AS (
    SELECT
        dump_id,
        allocation_index,
        distance_bytes,
        COUNT(*) AS times,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, allocation_index ORDER BY COUNT(*) DESC, distance_bytes ASC
        ) AS frequency_rank
    FROM intermediate.slot_reaches
    WHERE distance_bytes > 0
    GROUP BY dump_id, allocation_index, distance_bytes
)

SELECT
    dump_id,  -- The dump.
    allocation_index,  -- An allocation whose slots stand at a constant stride.
    distance_bytes AS stride_bytes  -- From one offset to the next.
FROM ranked
WHERE frequency_rank = 1 AND times > 1
