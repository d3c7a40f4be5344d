-- Which row of a file an observation takes the place of: the newest row of each is found without sorting all of them.

ALTER TABLE raw.observations ADD COLUMN replaced_load_id BIGINT;

UPDATE raw.observations AS o
SET replaced_load_id = r.replaced_load_id
FROM (
    SELECT run_id, relative_path, load_id, MAX(load_id) OVER older AS replaced_load_id
    FROM raw.observations
    WINDOW older AS (
        PARTITION BY run_id, relative_path ORDER BY load_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
) AS r
WHERE o.run_id = r.run_id AND o.relative_path = r.relative_path AND o.load_id = r.load_id
    AND r.replaced_load_id IS NOT NULL;

COMMENT ON COLUMN raw.observations.replaced_load_id IS 'The load of the row of this file that was the newest until then; null for its first row.';
