-- Contents: one row for each distinct buffer-assignment dump, with what stands in its head.
-- grain: dump_id
SELECT
    dump_id,  -- The dump.
    sha256,  -- SHA-256 of its content.
    text_bytes,  -- Bytes of text.
    load_id,  -- The load that brought it.
    signature_id,  -- Key of the entry signature.
    entry_signature,  -- Element types and dimensions of parameters and output.
    file_layout,  -- combined or split.
    used_values_state,  -- Whether the values' positions and uses are there.
    live_range_state,  -- present, absent, not available or unbounded.
    peak_form,  -- What a peak line shows: name, indexed or cumulative; null without lines.
    total_bytes,  -- Sum of all allocation sizes as XLA prints it; not a peak.
    max_position,  -- Number of schedule lines.
    reported_peak_position,  -- Position XLA prints as its peak.
    text_encoding,  -- utf-8 or latin-1.
    stack_trace  -- The stack trace breakdown of the peak, verbatim.
FROM raw.dumps
