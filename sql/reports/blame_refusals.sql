-- The runs with dumps that were refused: a program that is missing there may be in one of them.
-- grain: run_id
SELECT
    run_id,  -- The run.
    run_name,  -- Its name.
    platform,  -- cpu, gpu or tpu, as the run, else its dumps say; null if unknown.
    track,  -- Label that tells series apart.
    device_kind,  -- Device the run compiled for, which tells series apart; null where nobody said.
    refused_dump_count  -- Its dumps that were refused and not taken since.
FROM marts.runs_v2
WHERE refused_dump_count > 0
ORDER BY run_order
