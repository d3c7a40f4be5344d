-- The programs of the warehouse, each with its function and its entry signature.
-- A function is the module name without the suffixes that count recompiles; a program is one signature of it.
-- grain: program_id
-- portable: yes
SELECT
    o.program_id,  -- The program: its name and entry signature.
    MAX(o.program_name) AS function_name,  -- The function: the name of the program.
    MAX(d.entry_signature) AS entry_signature,  -- Element types and dimensions of parameters and output.
    CAST(COUNT(DISTINCT o.run_id) AS BIGINT) AS run_count,  -- Runs with a dump of it.
    CAST(COUNT(DISTINCT o.dump_id) AS BIGINT) AS content_count  -- Different dumps of it.
FROM staging.observations AS o
INNER JOIN staging.dumps AS d ON o.dump_id = d.dump_id
GROUP BY o.program_id
