-- Contents with the bytes that XLA lists at the printed peak of each: their sum, which reads all peak lines.
-- grain: dump_id
WITH reported AS (
    SELECT
        dump_id,
        CAST(SUM(listed_bytes) AS BIGINT) AS reported_peak_bytes
    FROM raw.peak_buffers
    GROUP BY dump_id
)

SELECT
    d.dump_id,  -- The dump.
    d.sha256,  -- SHA-256 of its content.
    d.text_bytes,  -- Bytes of text.
    d.load_id,  -- The load that brought it.
    d.signature_id,  -- Key of the entry signature.
    d.entry_signature,  -- Element types and dimensions of parameters and output.
    d.file_layout,  -- combined or split.
    d.used_values_state,  -- Whether the values' positions and uses are there.
    d.live_range_state,  -- present, absent, not available or unbounded.
    d.peak_form,  -- What a peak line shows: name, indexed or cumulative; null without lines.
    d.total_bytes,  -- Sum of all allocation sizes as XLA prints it; not a peak.
    d.max_position,  -- Number of schedule lines.
    d.reported_peak_position,  -- Position XLA prints as its peak.
    p.reported_peak_bytes,  -- Sum of XLA's peak lines; before jaxlib 0.6.0 they weigh whole instructions.
    d.text_encoding,  -- utf-8 or latin-1.
    f.dump_id IS NOT NULL AS has_stack_frames,  -- Whether a module text with stack frames was ever seen beside it.
    d.stack_trace  -- The stack trace breakdown of the peak, verbatim.
FROM staging.contents AS d
LEFT JOIN reported AS p ON d.dump_id = p.dump_id
LEFT JOIN staging.dump_stack_frames AS f ON d.dump_id = f.dump_id
