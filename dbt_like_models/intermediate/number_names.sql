-- Official numbers that each dump has, by source; those of messages are in the messages.
-- grain: number_order
SELECT
    CAST(number_order AS BIGINT) AS number_order,  -- Place of the number among those of a dump.
    said_by,  -- Who says it.
    number_name,  -- What it is called there.
    figure  -- Of memory_analysis() the figure that official rules are about, of XProf the rule.
FROM (
    VALUES
    (1, 'memory_analysis()', 'argument_size_in_bytes', 'sizes'),
    (2, 'memory_analysis()', 'output_size_in_bytes', 'sizes'),
    (3, 'memory_analysis()', 'alias_size_in_bytes', 'sizes'),
    (4, 'memory_analysis()', 'temp_size_in_bytes', 'temp'),
    (5, 'memory_analysis()', 'peak_memory_in_bytes', 'peak'),
    (6, 'memory_analysis()', 'generated_code_size_in_bytes', 'code'),
    (7, 'memory_analysis()', 'host_argument_size_in_bytes', 'host_sizes'),
    (8, 'memory_analysis()', 'host_output_size_in_bytes', 'host_sizes'),
    (9, 'memory_analysis()', 'host_alias_size_in_bytes', 'host_sizes'),
    (10, 'memory_analysis()', 'host_temp_size_in_bytes', 'host_temp'),
    (40, 'XProf', 'peak_heap_mib', 'kept_and_replay'),
    (41, 'XProf', 'total_buffer_allocation_mib', 'allocations_of_space'),
    (42, 'XProf', 'entry_computation_parameters_mib', 'parameters_of_space'),
    (43, 'XProf', 'maybe_live_out_mib', 'outputs_of_space')
) AS written (number_order, said_by, number_name, figure)
