-- Which compiler made each dump, as numbers that can be compared with those of rules. The file name says the platform: a TPU
-- job also writes dumps of its CPU modules, and their compiler is not that of the run. Only libtpu writes revisions into file
-- names: a known revision decides the release, whatever the run says. Versions are numbers: 0.10.2 is 10002. A pre-release
-- may lie on either side of a change, so it has no number; versions of other compilers have none either.
-- grain: run_id, relative_path
WITH known AS (
    SELECT
        o.run_id,
        o.relative_path,
        r.compiler AS said_compiler,
        r.compiler_version AS said_version,
        CASE WHEN o.compile_target IN ('cpu', 'tpu') THEN o.compile_target ELSE 'gpu' END AS platform,
        regexp_extract(r.compiler_version, '^([0-9]{1,6})[.][0-9]{1,3}[.][0-9]{1,3}([.](post)?[0-9]+)?$', 1) AS major,
        TRY_CAST(split_part(r.compiler_version, '.', 2) AS BIGINT) AS minor,
        TRY_CAST(split_part(r.compiler_version, '.', 3) AS BIGINT) AS patch,
        CASE WHEN o.compile_target = 'tpu' THEN TRY_CAST(o.compiler_revision AS BIGINT) END AS revision
    FROM staging.observations AS o
    INNER JOIN staging.runs AS r ON o.run_id = r.run_id
    WHERE o.compile_target IS NOT NULL
),

named AS (
    SELECT *, CASE WHEN revision IS NOT NULL THEN 'libtpu' ELSE said_compiler END AS compiler FROM known
),

released AS (
    SELECT
        n.*,
        l.release_text,
        COALESCE(
            l.version,
            CASE
                WHEN n.said_compiler = n.compiler THEN TRY_CAST(n.major AS BIGINT) * 1000000 + n.minor * 1000 + n.patch
            END
        ) AS version
    FROM named AS n
    LEFT JOIN intermediate.libtpu_releases AS l ON n.revision = l.revision
)

SELECT
    run_id,  -- The run.
    relative_path,  -- The file.
    platform,  -- cpu, gpu or tpu.
    compiler,  -- What embeds XLA there: jaxlib or libtpu, say; null where nobody said.
    version,  -- Its version; null without a number.
    revision,  -- CL number of libtpu; null elsewhere.
    COALESCE(
        release_text, CASE WHEN version IS NOT NULL THEN said_version END,
        'CL ' || CAST(revision AS VARCHAR), said_version
    ) AS release_text  -- Its release as far as something says it: by the CL number, the run, or the CL number alone.
FROM released
