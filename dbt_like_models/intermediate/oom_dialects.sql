-- Which releases write each form of a message whose figures are sums of bytes of the dump, as far as specimens show.
-- grain: dialect
SELECT
    dialect,  -- Form of the message.
    since_text,  -- First release that writes it.
    below_text  -- First release that is known to write another one; null where none is.
FROM (
    VALUES
    ('T1', 'libtpu 0.0.8', 'libtpu 0.0.37'),
    -- 0.0.52 still writes T2, where all allocations fit and the program's code does not fit beside them.
    ('T2', 'libtpu 0.0.37', NULL),
    ('T3', 'libtpu 0.0.42.1', 'libtpu 0.0.50.1'),
    ('T3b', 'libtpu 0.0.50.1', NULL),
    ('T3r', 'libtpu 0.0.42.1', NULL)
) AS seen (dialect, since_text, below_text)
