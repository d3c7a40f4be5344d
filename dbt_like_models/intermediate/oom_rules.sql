-- By which rule a figure of a message comes from the bytes of the dump that it is about, by dialect: the first rule that
-- holds counts. The rules are those of bufferhouse/messages/rules.py, which a test compares with every specimen.
-- grain: rule_number, dialect
SELECT
    CAST(rule_number AS BIGINT) AS rule_number,  -- Order of the rules, from 0.
    rule,  -- Name of the rule.
    dialect,  -- Form of the message.
    figure_name,  -- The figure.
    is_of_parameters,  -- Parameters are added up.
    is_of_temporaries,  -- Temporaries are.
    is_of_outputs,  -- Outputs are that are not placed on parameters.
    is_of_shared,  -- Outputs are that are.
    is_of_constants,  -- Constants are.
    is_of_thread_local,  -- Thread-local allocations are.
    without_figure,  -- It holds where this figure is missing or 0B; null: in any case.
    beside_figure  -- It holds where this figure is there, and not 0B; null: in any case.
FROM (
    VALUES
    (0, 'temporaries', 'T1', 'used', FALSE, TRUE, FALSE, FALSE, FALSE, FALSE, 'arguments', NULL),
    (0, 'temporaries', 'T2', 'used', FALSE, TRUE, FALSE, FALSE, FALSE, FALSE, 'arguments', NULL),
    (1, 'parameters', 'T1', 'used', TRUE, FALSE, FALSE, FALSE, FALSE, FALSE, 'program', NULL),
    (1, 'parameters', 'T2', 'used', TRUE, FALSE, FALSE, FALSE, FALSE, FALSE, 'program', NULL),
    (2, 'temporaries and parameters', 'T1', 'used', TRUE, TRUE, FALSE, FALSE, FALSE, FALSE, NULL, 'arguments'),
    (2, 'temporaries and parameters', 'T2', 'used', TRUE, TRUE, FALSE, FALSE, FALSE, FALSE, NULL, 'arguments'),
    (3, 'temporaries', 'T1', 'program', FALSE, TRUE, FALSE, FALSE, FALSE, FALSE, NULL, 'hlo_temp'),
    (3, 'temporaries', 'T2', 'program', FALSE, TRUE, FALSE, FALSE, FALSE, FALSE, NULL, 'hlo_temp'),
    (4, 'temporaries', 'T1', 'requirement', FALSE, TRUE, FALSE, FALSE, FALSE, FALSE, NULL, 'hlo_temp'),
    (4, 'temporaries', 'T2', 'requirement', FALSE, TRUE, FALSE, FALSE, FALSE, FALSE, NULL, 'hlo_temp'),
    (5, 'temporaries', 'T1', 'hlo_temp', FALSE, TRUE, FALSE, FALSE, FALSE, FALSE, NULL, NULL),
    (5, 'temporaries', 'T2', 'hlo_temp', FALSE, TRUE, FALSE, FALSE, FALSE, FALSE, NULL, NULL),
    (6, 'parameters', 'T1', 'arguments', TRUE, FALSE, FALSE, FALSE, FALSE, FALSE, NULL, 'arguments'),
    (6, 'parameters', 'T2', 'arguments', TRUE, FALSE, FALSE, FALSE, FALSE, FALSE, NULL, 'arguments'),
    (7, 'outputs', 'T1', 'output', FALSE, FALSE, TRUE, TRUE, FALSE, FALSE, NULL, 'output'),
    (7, 'outputs', 'T2', 'output', FALSE, FALSE, TRUE, TRUE, FALSE, FALSE, NULL, 'output'),
    (8, 'outputs placed on parameters', 'T1', 'shared_output', FALSE, FALSE, FALSE, TRUE, FALSE, FALSE, NULL, 'shared_output'),
    (8, 'outputs placed on parameters', 'T2', 'shared_output', FALSE, FALSE, FALSE, TRUE, FALSE, FALSE, NULL, 'shared_output'),
    (9, 'all allocations', 'T3', 'used', TRUE, TRUE, TRUE, FALSE, TRUE, FALSE, NULL, NULL),
    (9, 'all allocations', 'T3b', 'used', TRUE, TRUE, TRUE, FALSE, TRUE, FALSE, NULL, NULL),
    (9, 'all allocations', 'T3r', 'used', TRUE, TRUE, TRUE, FALSE, TRUE, FALSE, NULL, NULL),
    (10, 'all allocations, thread-local ones too', 'T3', 'all_allocations', TRUE, TRUE, TRUE, FALSE, TRUE, TRUE, NULL, NULL),
    (10, 'all allocations, thread-local ones too', 'T3b', 'all_allocations', TRUE, TRUE, TRUE, FALSE, TRUE, TRUE, NULL, NULL),
    (10, 'all allocations, thread-local ones too', 'T3r', 'all_allocations', TRUE, TRUE, TRUE, FALSE, TRUE, TRUE, NULL, NULL)
) AS written (
    rule_number, rule, dialect, figure_name, is_of_parameters, is_of_temporaries, is_of_outputs, is_of_shared,
    is_of_constants, is_of_thread_local, without_figure, beside_figure
)
