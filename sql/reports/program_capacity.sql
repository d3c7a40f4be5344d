-- How much of the default memory space a program of a run may take.
-- grain: run_id
-- parameters: run_id
SELECT
    run_id,  -- The run.
    device_kind,  -- Device the run compiled for.
    capacity_bytes,  -- Bytes that a program may take.
    capacity_source  -- Who says so: a message, the run, or a document.
FROM marts.capacities_v1
WHERE run_id = $run_id AND capacity_bytes IS NOT NULL
