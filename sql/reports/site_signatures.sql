-- The programs of the warehouse with their functions and signatures.
-- grain: program_id
SELECT
    program_id,  -- The program: its name and entry signature.
    function_name,  -- The function: the name of the program.
    entry_signature,  -- Element types and dimensions of parameters and output.
    run_count,  -- Runs with a dump of it.
    content_count  -- Different dumps of it.
FROM marts.programs_v1
ORDER BY function_name, program_id
