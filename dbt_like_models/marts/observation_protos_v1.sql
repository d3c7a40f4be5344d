-- The proto of each dump that has one, beside it or as the dump itself: its traces and alias sets, the highest point of a
-- replay, and what is wrong with it.
-- grain: run_id, relative_path
-- portable: yes
SELECT
    o.run_id,  -- The run the file belongs to.
    o.relative_path,  -- Path below the run's root.
    o.dump_id,  -- The content that was seen.
    o.program_id,  -- The program: its name and entry signature.
    d.file_layout = 'proto' AS is_proto_alone,  -- The dump has no text: its rows are those of the proto.
    o.heap_events_id,  -- The traces, in heap_events; null for a proto that is left aside.
    o.alias_sets_id,  -- The alias sets, in alias_sets; null for a proto that is left aside.
    CASE
        WHEN o.heap_events_id IS NOT NULL THEN COALESCE(h.replayed_bytes, 0)
    END AS replayed_bytes,  -- Most bytes alive in a replay of all traces, memory spaces mixed (ComputePeakMemory).
    o.proto_fault,  -- Why the proto cannot be read; null where it can.
    o.proto_difference  -- Where it says otherwise than the text; null where they agree.
FROM staging.observations AS o
INNER JOIN staging.contents AS d ON o.dump_id = d.dump_id
LEFT JOIN intermediate.replayed_heaps AS h ON o.heap_events_id = h.heap_events_id
WHERE o.heap_events_id IS NOT NULL OR o.proto_fault IS NOT NULL OR o.proto_difference IS NOT NULL
