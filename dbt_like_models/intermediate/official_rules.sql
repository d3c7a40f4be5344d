-- By which rule a compiler makes the figures of `compiled.memory_analysis()`: sizes (argument, output and alias), temp
-- and peak; for the host's memory sizes and temp. A row says which compilers follow a rule. The rules were compared with
-- jaxlib 0.4.13 to 0.10.2 on the CPU, with every release around a change, with 0.7.0 to 0.12.0.1 on a GPU, and with libtpu
-- 0.0.8 to 0.0.52. Versions are numbers: 0.10.2 is 10002. A revision is a CL number of libtpu; it decides if it belongs to no
-- release and the run names no version of libtpu. A rule without a row is unknown.
-- grain: platform, figure, rule, from_version
SELECT
    platform,  -- cpu, gpu or tpu.
    compiler,  -- What embeds XLA there: jaxlib or libtpu.
    figure,  -- sizes, temp, peak, host_sizes or host_temp.
    rule,  -- Name of the rule.
    from_version,  -- First version that follows it.
    below_version,  -- First version that is not known to follow it any more.
    compared_from_version,  -- First version it was compared with.
    compared_to_version,  -- Last version it was compared with.
    from_revision,  -- First revision that follows it.
    below_revision,  -- First revision that is not known to follow it any more.
    compared_to_revision  -- Last revision it was compared with.
FROM (
    VALUES
    -- Until PjRt's CPU client called PopulateBufferStatsFromAllocations, it left every figure 0.
    ('cpu', 'jaxlib', 'sizes', 'all_zero', 4013, 4029, 4013, 4028, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'temp', 'all_zero', 4013, 4029, 4013, 4028, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'sizes', 'flags_of_allocations', 4029, NULL, 4029, 10002, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'temp', 'preallocated_temps', 4029, NULL, 4029, 10002, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'peak', 'not_reported', 4013, 7000, 4013, 6002, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'peak', 'static_and_replay', 7000, 7002, 7000, 7001, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'peak', 'static', 7002, NULL, 7002, 10002, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'host_sizes', 'all_zero', 4013, 4029, NULL, NULL, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'host_temp', 'all_zero', 4013, 4029, NULL, NULL, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'host_sizes', 'flags_of_allocations', 4029, NULL, NULL, NULL, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'host_temp', 'preallocated_temps', 4029, NULL, NULL, NULL, NULL, NULL, NULL),
    -- The GPU client calls the same functions. Until 0.10.0 it hands them no heap traces, so its peak does not include
    -- temporaries.
    ('gpu', 'jaxlib', 'sizes', 'flags_of_allocations', 4029, NULL, 7000, 12000, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'temp', 'preallocated_temps', 4029, NULL, 7000, 12000, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'peak', 'not_reported', 4029, 7000, NULL, NULL, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'peak', 'static', 7000, 10001, 7000, 10000, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'peak', 'static_and_replay', 10001, NULL, 10001, 12000, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'host_sizes', 'flags_of_allocations', 4029, NULL, NULL, NULL, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'host_temp', 'preallocated_temps', 4029, NULL, NULL, NULL, NULL, NULL, NULL),
    -- Up to libtpu 0.0.50 temp is the arena and its fragmentation, as it is when the code was generated, so the first rule
    -- for temp is exact where no element moves to a register (docs/measures.md). The second begins with 0.0.51. CL
    -- 715008383 is 0.0.8, 994787025 is 0.0.50, 1003875606 is 0.0.51. Whether there is a peak also depends on the jaxlib beside
    -- libtpu: 0.0.17.1 came with one that gives none, 0.0.23 with one that does.
    ('tpu', 'libtpu', 'sizes', 'flags_of_allocations', 8, NULL, 8, 52, 715008383, NULL, 1014260217),
    ('tpu', 'libtpu', 'temp', 'twice_arena_less_covered', 8, 51, 8, 50, 715008383, 994787026, 994787025),
    ('tpu', 'libtpu', 'temp', 'arena_in_16_kib', 51, NULL, 51, 52, 1003875606, NULL, 1014260217),
    ('tpu', 'libtpu', 'peak', 'not_reported', 8, 9, 8, 8, NULL, NULL, NULL),
    ('tpu', 'libtpu', 'peak', 'static_and_replay', 33, NULL, 33, 52, 853872983, NULL, 1014260217),
    -- The same rule, in a row of its own: results that are frozen name 0.0.33 as its first version.
    ('tpu', 'libtpu', 'peak', 'static_and_replay', 23, 33, 23, 32, 816760386, 853872983, 816760386),
    -- The host's memory has no arena: its temporaries are a plain sum.
    ('tpu', 'libtpu', 'host_sizes', 'flags_of_allocations', 8, NULL, 23, 52, 715008383, NULL, 1014260217),
    ('tpu', 'libtpu', 'host_temp', 'preallocated_temps', 8, NULL, 23, 52, 715008383, NULL, 1014260217)
) AS written (
    platform, compiler, figure, rule, from_version, below_version, compared_from_version, compared_to_version,
    from_revision, below_revision, compared_to_revision
)
