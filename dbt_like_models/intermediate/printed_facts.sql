-- What each dump prints about itself, the total and the peak, beside what its bytes give. The rules depend on the form of the
-- text, and not on the compiler.
-- grain: run_id, relative_path
WITH totals AS (
    SELECT dump_id, CAST(SUM(size_bytes) AS BIGINT) AS allocated_bytes
    FROM staging.allocation_sizes
    GROUP BY dump_id
)

SELECT
    o.run_id,  -- The run.
    o.relative_path,  -- The file.
    o.dump_id,  -- Its content.
    d.file_layout = 'proto' AS is_proto,  -- The dump has no text, which is what is printed.
    d.peak_form,  -- What a line of the printed peak shows: name, indexed or cumulative; null without lines.
    CASE WHEN d.file_layout <> 'proto' THEN d.total_bytes END AS total_bytes,  -- The printed total.
    d.reported_peak_position,  -- The printed peak.
    d.reported_peak_bytes,  -- Bytes in the lines of the printed peak.
    COALESCE(t.allocated_bytes, 0) AS allocated_bytes,  -- Sum of all allocations.
    w.weighed_peak_position,  -- The peak by XLA's own formula; null where texts of instructions are missing.
    CASE
        WHEN d.peak_form = 'name' THEN w.weighed_bytes
        WHEN d.peak_form IN ('indexed', 'cumulative') AND w.weighed_peak_position = d.reported_peak_position
            THEN COALESCE(l.listed_at_reported_peak_bytes, 0)
    END AS peak_bytes  -- Bytes of the values alive there; null where it is another moment than the printed one.
FROM staging.observations AS o
INNER JOIN staging.dumps AS d ON o.dump_id = d.dump_id
LEFT JOIN totals AS t ON o.dump_id = t.dump_id
LEFT JOIN intermediate.weighed_peaks AS w ON o.dump_id = w.dump_id
LEFT JOIN intermediate.listed_peaks AS l ON o.dump_id = l.dump_id
