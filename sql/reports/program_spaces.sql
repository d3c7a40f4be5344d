-- What some dumps take in each memory space: reserved, occupied and listed bytes, the printed peak, and the footprint.
-- grain: dump_id, memory_space
-- parameters: dump_ids
SELECT
    p.dump_id,  -- The dump.
    p.memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    p.reserved_bytes,  -- Sum of allocation sizes, without thread-local ones: the footprint.
    p.thread_local_bytes,  -- Thread-local allocations: taken once per thread.
    p.occupied_peak_bytes,  -- Most bytes in the union of live slots; null without live ranges.
    p.occupied_peak_position,  -- First position of the schedule with as much.
    p.occupied_peak_position_count,  -- Positions with as much.
    p.listed_peak_bytes,  -- Most logical bytes alive, as XLA counts, in this memory space.
    p.listed_peak_position,  -- First position of that.
    p.dump_listed_peak_bytes,  -- The same over all memory spaces together.
    p.dump_listed_peak_position,  -- First position of that.
    p.dump_reported_peak_position,  -- Position XLA prints as (peak), for all memory spaces together.
    p.dump_reported_peak_bytes,  -- Bytes XLA lists there.
    p.has_other_reported_peak,  -- Whether more listed bytes are alive elsewhere than where XLA prints its peak.
    f.parameter_bytes,  -- Of the footprint: entry parameters.
    f.output_bytes,  -- Of the footprint: outputs not placed on parameters.
    f.constant_bytes,  -- Of the footprint: constants.
    f.temp_bytes,  -- Of the footprint: temporaries.
    f.increment_bytes  -- Footprint without parameters: what a call adds.
FROM marts.peak_memory_v1 AS p
INNER JOIN marts.footprint_v1 AS f ON p.dump_id = f.dump_id AND p.memory_space = f.memory_space
WHERE p.dump_id IN ($dump_ids) AND f.dump_id IN ($dump_ids)
ORDER BY p.dump_id, p.memory_space
