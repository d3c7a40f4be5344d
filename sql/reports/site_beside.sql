-- What runs see of their dumps and what a later load of any run may change: source lines, which come from a module text that lies
-- beside the same dump in some run, and soft rules that files beside it break. Dumps of which nothing is said have no row.
-- grain: run_id, dump_id
WITH told AS (
    SELECT
        dump_id,
        BIT_XOR(HASH(instruction_text_id, source_file, source_line)) AS fingerprint
    FROM marts.call_stacks_v1
    WHERE depth = 0
    GROUP BY dump_id
    UNION ALL
    SELECT
        dump_id,
        BIT_XOR(HASH(rule, occurrence_count, expected, found)) AS fingerprint
    FROM marts.warnings_v3
    GROUP BY dump_id
),

seen AS (
    SELECT DISTINCT
        run_id,
        dump_id
    FROM marts.observations_v1
)

SELECT
    s.run_id,  -- The run.
    s.dump_id,  -- A dump of it.
    CAST(BIT_XOR(t.fingerprint) AS VARCHAR) AS fingerprint  -- Of what is said of it.
FROM seen AS s
INNER JOIN told AS t ON s.dump_id = t.dump_id
GROUP BY s.run_id, s.dump_id
ORDER BY s.run_id, s.dump_id
