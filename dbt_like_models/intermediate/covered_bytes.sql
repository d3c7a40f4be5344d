-- Which bytes of an allocation some value ever uses, and how far the slots stand apart.
-- grain: dump_id, allocation_index
WITH slots AS (
    SELECT
        v.dump_id,
        v.allocation_index,
        v.offset_bytes,
        v.offset_bytes + v.size_bytes AS end_bytes,
        v.start_position IS NOT NULL AS has_range
    FROM staging.hlo_values AS v
    WHERE v.size_bytes > 0
),

reach AS (
    SELECT
        dump_id,
        allocation_index,
        offset_bytes,
        end_bytes,
        has_range,
        COALESCE(MAX(end_bytes) OVER preceding, 0) AS reached_bytes,
        COALESCE(MAX(CASE WHEN has_range THEN end_bytes END) OVER preceding, 0) AS reached_ranged_bytes
    FROM slots
    WINDOW preceding AS (
        PARTITION BY dump_id, allocation_index
        ORDER BY offset_bytes, end_bytes
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
),

-- Slots stand at a constant stride when the same distance between neighbouring offsets comes up at least twice;
-- of two that come up as often, the smaller.
offsets AS (
    SELECT DISTINCT dump_id, allocation_index, offset_bytes FROM slots
),

distances AS (
    SELECT
        dump_id,
        allocation_index,
        offset_bytes,
        offset_bytes - LAG(offset_bytes) OVER (
            PARTITION BY dump_id, allocation_index ORDER BY offset_bytes
        ) AS distance_bytes
    FROM offsets
),

counted AS (
    SELECT
        dump_id,
        allocation_index,
        distance_bytes,
        COUNT(*) AS times,
        ROW_NUMBER() OVER (
            PARTITION BY dump_id, allocation_index ORDER BY COUNT(*) DESC, distance_bytes ASC
        ) AS frequency_rank
    FROM distances
    WHERE distance_bytes IS NOT NULL
    GROUP BY dump_id, allocation_index, distance_bytes
),

strides AS (
    SELECT dump_id, allocation_index, distance_bytes AS stride_bytes FROM counted
    WHERE frequency_rank = 1 AND times > 1
)

SELECT
    r.dump_id,  -- The dump.
    r.allocation_index,  -- The allocation.
    CAST(SUM(GREATEST(r.end_bytes - GREATEST(r.offset_bytes, r.reached_bytes), 0)) AS BIGINT)
        AS covered_bytes,  -- Bytes in the union of all slots.
    CAST(
        SUM(
            CASE
                WHEN r.has_range THEN GREATEST(r.end_bytes - GREATEST(r.offset_bytes, r.reached_ranged_bytes), 0)
                ELSE 0
            END
        ) AS BIGINT
    ) AS ranged_bytes,  -- Bytes in the union of the slots with a live range.
    MAX(s.stride_bytes) AS stride_bytes,  -- The most frequent distance of neighbouring offsets, if it comes up twice.
    CAST(
        SUM(
            CASE
                WHEN d.distance_bytes = s.stride_bytes AND r.offset_bytes > r.reached_bytes
                    THEN r.offset_bytes - r.reached_bytes
                ELSE 0
            END
        ) AS BIGINT
    ) AS air_bytes  -- Bytes between slots that stand at that stride.
FROM reach AS r
LEFT JOIN strides AS s ON r.dump_id = s.dump_id AND r.allocation_index = s.allocation_index
LEFT JOIN distances AS d
    ON
        r.dump_id = d.dump_id
        AND r.allocation_index = d.allocation_index
        AND r.offset_bytes = d.offset_bytes
GROUP BY r.dump_id, r.allocation_index
