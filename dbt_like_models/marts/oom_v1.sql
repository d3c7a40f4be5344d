-- Programs that did not fit: each message once a run, with the dump that it is about, what was needed and what there was.
-- A figure that no rule reproduces to its last digit has no bytes. Rows with dialect R are warnings of
-- rematerialization, of programs that may fit.
-- grain: run_id, message_id
-- portable: no, because a message is joined to the dump that has its words by functions of texts of DuckDB
WITH files AS (
    SELECT
        run_id,
        dump_id,
        MIN(relative_path) AS relative_path,
        MIN(module_name) AS module_name
    FROM staging.observations
    GROUP BY run_id, dump_id
)

SELECT
    m.run_id,  -- The run.
    r.run_name,  -- Its name.
    m.message_id,  -- What the message says; equal in other runs that say it.
    m.relative_path AS log_path,  -- The first log that says it, as seen from the run's root.
    m.line_number,  -- Line in which it first begins there.
    m.log_count,  -- Logs of the run that say it.
    COALESCE(k.rank_count, 0) AS rank_count,  -- Ranks that say it.
    k.rank_names,  -- Their names, as a launcher writes them; null without a launcher.
    m.dialect,  -- Form of the message: T1 to T8 of TPU, G1 and G2 of GPU, R a warning.
    m.is_failure,  -- Says that something did not fit; a warning of rematerialization does not.
    m.memory_space_name,  -- Memory that does not suffice: hbm, vmem, smem.
    COALESCE(m.module_name, f.module_name) AS module_name,  -- Module that did not fit.
    n.dump_id,  -- The dump that it is about; null where none is known to be.
    f.relative_path,  -- Its file below the run's root.
    n.join_state,  -- joined, several fit as well, no dump, no dump of the module, or none explains it.
    n.is_explained,  -- The message names the dump's module, or the dump explains it; else it may be another program's.
    n.figure_name AS needed_figure,  -- Which figure says what was needed.
    n.printed_text AS needed_text,  -- What was needed, as printed.
    n.figure_bytes AS needed_bytes,  -- The same in bytes; null where no rule reproduces it.
    n.rule,  -- Which bytes of the dump that is.
    n.is_reproduced,  -- Its bytes are printed as the figure is.
    n.found_bytes,  -- What the rule of its compiler gives where that is not printed so.
    n.capacity_text,  -- What it did not fit into, as printed.
    m.capacity_bytes,  -- The same in bytes.
    CASE
        -- What would fit but for the program's code, which is not in the dump, is too much by what the message prints;
        -- so is what does not fit into a memory whose bytes are known only as they are rounded.
        WHEN n.exceeded_bytes IS NULL OR (n.figure_bytes > m.capacity_bytes AND n.is_capacity_exact)
            THEN n.figure_bytes - m.capacity_bytes
        ELSE n.exceeded_bytes
    END AS over_bytes,  -- By how many bytes it is too much.
    p.parameter_bytes,  -- Parameters of the dump in the default memory space.
    p.temp_bytes,  -- Its temporaries.
    p.output_bytes,  -- Its outputs that are not placed on parameters.
    p.other_bytes,  -- Its constants and thread-local allocations.
    m.fault_text  -- Why its figures are not relied on: it is cut, say; null where they are.
FROM intermediate.oom_messages AS m
INNER JOIN staging.runs AS r ON m.run_id = r.run_id
INNER JOIN intermediate.oom_needs AS n ON m.run_id = n.run_id AND m.message_id = n.message_id
LEFT JOIN files AS f ON n.run_id = f.run_id AND n.dump_id = f.dump_id
LEFT JOIN intermediate.oom_parts AS p ON n.dump_id = p.dump_id
LEFT JOIN intermediate.oom_rank_names AS k ON m.run_id = k.run_id AND m.message_id = k.message_id
