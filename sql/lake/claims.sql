-- What the writers of a lake agree by, in the PostgreSQL of its catalog: who loads what, and that only those commit.
-- Run as written, by a writer that finds another text of it in the catalog, or none.

CREATE SCHEMA IF NOT EXISTS bufferhouse;

CREATE TABLE IF NOT EXISTS bufferhouse.workers (
    worker_id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    host_name TEXT NOT NULL,
    process_id INTEGER NOT NULL,
    began_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

COMMENT ON TABLE bufferhouse.workers IS
    'Who writes to the lake: alive as long as its session holds the advisory lock of its number.';

CREATE TABLE IF NOT EXISTS bufferhouse.claims (
    claim_id BIGINT PRIMARY KEY,
    worker_id INTEGER NOT NULL
);

CREATE INDEX IF NOT EXISTS claims_of_a_worker ON bufferhouse.claims (worker_id);

COMMENT ON TABLE bufferhouse.claims IS
    'What workers load just now: a dump_id, or below zero the key of a file of a run. Gone with the commit of it.';

CREATE TABLE IF NOT EXISTS bufferhouse.numbers (last_number BIGINT NOT NULL);

INSERT INTO bufferhouse.numbers (last_number) SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM bufferhouse.numbers);

COMMENT ON TABLE bufferhouse.numbers IS
    'One row: the last number that a load or a reject was given. No two workers are given the same.';

-- How often a snapshot was tried to be written. A sequence counts on where a transaction is rolled back.
CREATE SEQUENCE IF NOT EXISTS bufferhouse.commit_attempts;

CREATE OR REPLACE FUNCTION bufferhouse.count_attempt() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('bufferhouse.commit_attempts');
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER bufferhouse_count_attempt BEFORE INSERT ON public.ducklake_snapshot
    FOR EACH STATEMENT EXECUTE FUNCTION bufferhouse.count_attempt();

-- DuckLake writes this row in the transaction that makes the snapshot, so that claims end and rows begin in one moment.
-- DuckLake tries again after an error that says `conflict`, `concurrent` or `unique`: these must not.
CREATE OR REPLACE FUNCTION bufferhouse.fence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    said JSON;
    ended INTEGER;
BEGIN
    IF NEW.commit_extra_info LIKE '{"worker_id":%' THEN
        said := NEW.commit_extra_info;
        DELETE FROM bufferhouse.claims WHERE worker_id = (said ->> 'worker_id')::INTEGER;
        GET DIAGNOSTICS ended = ROW_COUNT;
        IF ended <> (said ->> 'claim_count')::INTEGER THEN
            RAISE EXCEPTION 'bufferhouse: worker % has % claims, and not %: its session ended, and others load them',
                said ->> 'worker_id', ended, said ->> 'claim_count';
        END IF;
    ELSIF EXISTS (
        SELECT 1 FROM public.ducklake_table AS t
        INNER JOIN public.ducklake_schema AS s ON t.schema_id = s.schema_id AND s.schema_name = 'raw'
        WHERE t.table_name = 'dumps' AND t.end_snapshot IS NULL
            AND NEW.changes_made ~ ('(inserted_into_table|inlined_insert):' || t.table_id || '(,|$)')
    ) THEN
        RAISE EXCEPTION 'bufferhouse: rows of raw.dumps are added by workers that have claimed them, and by nobody else';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER bufferhouse_fence AFTER INSERT ON public.ducklake_snapshot_changes
    FOR EACH ROW EXECUTE FUNCTION bufferhouse.fence();
