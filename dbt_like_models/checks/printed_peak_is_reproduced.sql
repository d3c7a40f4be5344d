-- The printed peak position follows from XLA's own formula (ComputePeakMemoryMoment, hlo_live_range.cc): each value
-- weighs as much as the whole result of its instruction, and is counted one position longer than it lives.
-- severity: warn
SELECT
    d.dump_id,  -- The dump.
    'Live ranges at ' || CAST(p.weighed_peak_position AS VARCHAR) || ' (peak)' AS expected,  -- What the formula gives.
    'Live ranges at ' || CAST(d.reported_peak_position AS VARCHAR) || ' (peak)' AS found  -- What is printed.
FROM staging.contents AS d
INNER JOIN intermediate.weighed_peaks AS p ON d.dump_id = p.dump_id
WHERE d.reported_peak_position <> p.weighed_peak_position
