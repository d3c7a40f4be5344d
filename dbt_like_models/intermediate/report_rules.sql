-- By which rule a compiler makes the totals of the memory-usage report beside a dump: report_total is that of its first form
-- (October 2024, CL 682579958), report_space that of each memory space in its second (March 2026). The first jaxlib with
-- each form is known from upstream's history, the first libtpu from its reports. The rules were compared with 1,994 reports:
-- of jaxlib 0.4.38 to 0.10.0 on the CPU, 0.10.2 for a GPU, libtpu 0.0.8 to 0.0.52. Columns are those of official_rules.
-- grain: platform, figure, rule, from_version
SELECT
    platform,  -- cpu, gpu or tpu.
    compiler,  -- What embeds XLA there: jaxlib or libtpu.
    figure,  -- report_total or report_space.
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
    ('cpu', 'jaxlib', 'report_total', 'not_written', 0, 4035, 4013, 4025, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'report_total', 'all_allocations', 4035, 9002, 4038, 9000, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'report_total', 'not_written', 9002, NULL, 10000, 10002, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'report_space', 'not_written', 0, 9002, 4013, 9000, NULL, NULL, NULL),
    ('cpu', 'jaxlib', 'report_space', 'allocations_of_space', 9002, NULL, 10000, 10002, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'report_total', 'not_written', 0, 4035, NULL, NULL, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'report_total', 'all_allocations', 4035, 9002, NULL, NULL, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'report_total', 'not_written', 9002, NULL, 10002, 10002, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'report_space', 'not_written', 0, 9002, NULL, NULL, NULL, NULL, NULL),
    ('gpu', 'jaxlib', 'report_space', 'allocations_of_space', 9002, NULL, 10002, 10002, NULL, NULL, NULL),
    -- CL 878335365 is libtpu 0.0.37, CL 885286250 is 0.0.38, CL 1014260217 is 0.0.52.
    ('tpu', 'libtpu', 'report_total', 'all_allocations', 8, 38, 8, 37, 682579958, 878335366, 878335365),
    ('tpu', 'libtpu', 'report_total', 'not_written', 38, NULL, 38, 52, 885286250, NULL, 1014260217),
    ('tpu', 'libtpu', 'report_space', 'not_written', 8, 38, 8, 37, 682579958, 878335366, 878335365),
    ('tpu', 'libtpu', 'report_space', 'allocations_of_space', 38, NULL, 38, 52, 885286250, NULL, 1014260217)
) AS written (
    platform, compiler, figure, rule, from_version, below_version, compared_from_version, compared_to_version,
    from_revision, below_revision, compared_to_revision
)
