-- What each memory space of a dump reserves, occupies and wastes.
-- grain: dump_id, memory_space
-- materialized: incremental by dump_id
WITH reserved AS (
    SELECT
        dump_id,
        memory_space,
        CAST(SUM(CASE WHEN kind <> 'thread-local' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS reserved_bytes,
        CAST(SUM(CASE WHEN kind = 'thread-local' THEN reserved_bytes ELSE 0 END) AS BIGINT) AS thread_local_bytes
    FROM intermediate.reserved
    GROUP BY dump_id, memory_space
),

padding AS (
    SELECT
        dump_id,
        memory_space,
        CAST(SUM(layout_padding_bytes) AS BIGINT) AS layout_padding_bytes,
        CAST(SUM(slack_bytes) AS BIGINT) AS slack_bytes
    FROM intermediate.padding_at_peak
    GROUP BY dump_id, memory_space
)

SELECT
    r.dump_id,  -- The dump.
    r.memory_space,  -- Memory space of the allocation.
    r.reserved_bytes,  -- Sum of allocation sizes, without thread-local ones.
    r.thread_local_bytes,  -- Thread-local allocations: taken once per thread.
    -- Without live ranges nothing is known; with them, a space without a live slot is empty.
    CASE
        WHEN d.live_range_state IN ('present', 'unbounded') THEN COALESCE(p.occupied_peak_bytes, 0)
    END AS occupied_peak_bytes,  -- Most bytes in the union of live slots; null without live ranges.
    CASE
        WHEN d.live_range_state IN ('present', 'unbounded') THEN COALESCE(w.layout_padding_bytes, 0)
    END AS layout_padding_bytes,  -- Layout padding alive at the occupied peak; null without live ranges.
    CASE
        WHEN d.live_range_state IN ('present', 'unbounded') THEN COALESCE(w.slack_bytes, 0)
    END AS slack_bytes  -- Slack alive at the occupied peak; null without live ranges.
FROM reserved AS r
INNER JOIN staging.contents AS d ON r.dump_id = d.dump_id
LEFT JOIN intermediate.peaks AS p ON r.dump_id = p.dump_id AND r.memory_space = p.memory_space
LEFT JOIN padding AS w ON r.dump_id = w.dump_id AND r.memory_space = w.memory_space
