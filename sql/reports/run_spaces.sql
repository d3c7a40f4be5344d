-- Some runs at a glance: the memory spaces that their programs use, on each platform. Peaks of programs are never added.
-- grain: run_id, platform, memory_space
-- parameters: run_ids
SELECT
    run_id,  -- The run.
    platform,  -- cpu, gpu or tpu; null where nobody said.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    program_count,  -- Programs with an allocation in this space.
    dump_count,  -- Files of these programs.
    variant_count,  -- Different contents of each program, summed.
    largest_reserved_bytes,  -- Reserved bytes of the largest program.
    p90_reserved_bytes,  -- 90th percentile over programs.
    median_reserved_bytes,  -- Median over programs.
    largest_occupied_peak_bytes,  -- Occupied peak of the program with the highest; null without live ranges.
    largest_layout_padding_bytes,  -- Most layout padding alive at a program's peak.
    CASE
        WHEN largest_layout_padding_bytes IS NOT NULL THEN padded_program_count
    END AS padded_program_count  -- Programs with layout padding alive at their peak; null where no peak is known.
FROM marts.fleet_summary_v1
WHERE run_id IN ($run_ids)
ORDER BY run_id ASC, platform ASC NULLS LAST, memory_space ASC
