-- Whose waste it is: operations and source lines of the newest run of each program, by the most layout padding and slack
-- that one program has alive at its occupied peak. Programs are never added up.
-- grain: platform, track, memory_space, op_name, source_file, source_line
-- parameters: sources (rows)
WITH wasted AS (
    SELECT
        l.platform,
        l.track,
        l.memory_space,
        l.program_name,
        s.op_name,
        s.source_file,
        s.source_line,
        s.layout_padding_bytes,
        s.slack_bytes,
        s.layout_padding_bytes + s.slack_bytes AS wasted_bytes
    FROM fleet_series AS l
    INNER JOIN marts.padding_by_source_v1 AS s ON l.dump_id = s.dump_id AND l.memory_space = s.memory_space
    WHERE s.op_name IS NOT NULL AND s.layout_padding_bytes + s.slack_bytes > 0
),

by_line AS (
    SELECT
        platform,
        track,
        memory_space,
        op_name,
        source_file,
        source_line,
        CAST(COUNT(DISTINCT program_name) AS BIGINT) AS program_count,
        MAX(wasted_bytes) AS wasted_bytes,
        FIRST(layout_padding_bytes ORDER BY wasted_bytes DESC, program_name ASC, slack_bytes ASC) AS layout_padding_bytes,
        FIRST(slack_bytes ORDER BY wasted_bytes DESC, program_name ASC, slack_bytes ASC) AS slack_bytes,
        FIRST(program_name ORDER BY wasted_bytes DESC, program_name ASC, slack_bytes ASC) AS program_name
    FROM wasted
    GROUP BY platform, track, memory_space, op_name, source_file, source_line
)

SELECT
    platform,  -- cpu, gpu or tpu; null where nobody said.
    track,  -- Label that tells series apart.
    memory_space,  -- Memory space; 0 is the default (HBM on TPU).
    op_name,  -- Name of the framework operation.
    source_file,  -- Source file of the user's program; null where neither dump nor module text says it.
    source_line,  -- Line in it.
    program_count,  -- Names of programs with such waste alive at their peak.
    wasted_bytes,  -- Most layout padding and slack of one program: the sum of the two that follow.
    layout_padding_bytes,  -- What tiles add.
    slack_bytes,  -- Alias sets and alignment.
    program_name  -- That program.
FROM by_line
ORDER BY
    wasted_bytes DESC,
    platform ASC NULLS LAST,
    track ASC NULLS FIRST,
    memory_space ASC,
    op_name ASC,
    source_file ASC,
    source_line ASC
LIMIT $sources
