-- How official numbers come from the bytes of a dump, in words.
-- grain: said_by, number_name, rule
SELECT
    said_by,  -- Who says the number.
    number_name,  -- What it is called there; null where the words are those of each number with the rule.
    rule,  -- The rule.
    rule_text  -- Which bytes it is the sum of.
FROM (
    VALUES
    ('memory_analysis()', 'argument_size_in_bytes', 'flags_of_allocations', 'allocations of entry parameters, all memory spaces but the host''s'),
    ('memory_analysis()', 'output_size_in_bytes', 'flags_of_allocations', 'allocations that may be live out, donated parameters included, all memory spaces but the host''s'),
    ('memory_analysis()', 'alias_size_in_bytes', 'flags_of_allocations', 'allocations of entry parameters that may be live out, all memory spaces but the host''s'),
    ('memory_analysis()', 'host_argument_size_in_bytes', 'flags_of_allocations', 'allocations of entry parameters in the host''s memory'),
    ('memory_analysis()', 'host_output_size_in_bytes', 'flags_of_allocations', 'allocations in the host''s memory that may be live out'),
    ('memory_analysis()', 'host_alias_size_in_bytes', 'flags_of_allocations', 'allocations of entry parameters in the host''s memory that may be live out'),
    ('memory_analysis()', 'temp_size_in_bytes', 'preallocated_temps', 'allocations of temporaries, all memory spaces but the host''s'),
    ('memory_analysis()', 'host_temp_size_in_bytes', 'preallocated_temps', 'allocations of temporaries in the host''s memory'),
    ('memory_analysis()', NULL, 'all_zero', 'nothing: the compiler left it 0'),
    ('memory_analysis()', NULL, 'twice_arena_less_covered', 'twice the temporaries of memory space 0 in whole 16 KiB, less the most bytes of arrays alive in them at one moment and all their tuple tables; 0 where nothing in them is really stored'),
    ('memory_analysis()', NULL, 'arena_in_16_kib', 'temporaries of memory space 0, rounded up to 16 KiB; 0 where nothing in them is really stored'),
    ('memory_analysis()', NULL, 'static', 'largest value of each allocation of a parameter, constant or output, all memory spaces together; no temporaries'),
    ('memory_analysis()', NULL, 'static_and_replay', 'largest value of each allocation of a parameter, constant or output, all memory spaces together, and the highest point of a replay of all heap traces'),
    ('memory_analysis()', NULL, 'not_reported', 'none: the compiler reports no such number'),
    ('the dump', NULL, 'all_allocations', 'every allocation once, all memory spaces together, thread-local ones too; the size of no memory'),
    ('the dump', NULL, 'values_at_moment', 'logical bytes of the values alive at the moment at which the results of their instructions weigh most, all memory spaces together, shared bytes counted again'),
    ('the dump', NULL, 'instructions_at_moment', 'whole results of the instructions of the values alive at the moment at which these weigh most, all memory spaces together, shared bytes counted again'),
    ('the dump', NULL, 'not_printed', 'none: it is not printed'),
    ('memory-usage report', NULL, 'all_allocations', 'every allocation once, all memory spaces together, thread-local ones too; the size of no memory'),
    ('memory-usage report', NULL, 'allocations_of_space', 'every allocation of the memory space, thread-local ones too'),
    ('memory-usage report', NULL, 'not_written', 'none: the compiler writes no report of this form'),
    ('XProf', NULL, 'kept_and_replay', 'allocations of parameters, constants, outputs and thread-local ones of the memory space in full, and the highest point of a replay of one heap trace'),
    ('XProf', NULL, 'allocations_of_space', 'every allocation of the memory space, thread-local ones too'),
    ('XProf', NULL, 'parameters_of_space', 'allocations of entry parameters of the memory space'),
    ('XProf', NULL, 'outputs_of_space', 'allocations of the memory space that may be live out, donated parameters included'),
    ('OOM message', NULL, 'temporaries', 'temporaries of memory space 0, in whole 16 KiB'),
    ('OOM message', NULL, 'parameters', 'parameters of memory space 0'),
    ('OOM message', NULL, 'temporaries and parameters', 'temporaries, in whole 16 KiB, and parameters of memory space 0'),
    ('OOM message', NULL, 'outputs', 'outputs of memory space 0 that are not placed on parameters'),
    ('OOM message', NULL, 'all allocations', 'every allocation of memory space 0 but thread-local ones'),
    ('OOM message', NULL, 'all allocations, thread-local ones too', 'every allocation of memory space 0, thread-local ones too'),
    ('OOM message', NULL, 'used without the capacity', 'the figure used less the capacity'),
    ('OOM message', NULL, 'used and reserved', 'the figure used and what the compiler keeps for itself'),
    ('OOM message', NULL, 'message_alone', 'not from the dump: the message alone tells it'),
    ('OOM message', NULL, 'not_reproduced', 'the rule of its compiler, which gives other bytes')
) AS written (said_by, number_name, rule, rule_text)
