-- What the writers of a lake agree by, in the PostgreSQL of its catalog: who loads what, that only those commit, and which
-- contents there are.
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

-- Which contents the lake has, so that nobody has to look through raw.dumps. The table stands for nothing by itself: it is
-- believed while the state below says how many rows raw.dumps was ever given, and DuckLake counts as many.
CREATE TABLE IF NOT EXISTS bufferhouse.contents (
    dump_id BIGINT PRIMARY KEY,
    sha256 BYTEA NOT NULL,
    signature_id BIGINT NOT NULL
);

COMMENT ON TABLE bufferhouse.contents IS 'The contents of raw.dumps, if contents_state says so. Other rows do no harm else.';

CREATE TABLE IF NOT EXISTS bufferhouse.contents_state (row_count BIGINT);

INSERT INTO bufferhouse.contents_state (row_count)
SELECT NULL WHERE NOT EXISTS (SELECT 1 FROM bufferhouse.contents_state);

COMMENT ON TABLE bufferhouse.contents_state IS
    'One row: how many rows raw.dumps had ever been given when contents was the same; null while it may not be.';

-- Each row of a table of DuckLake gets a number, and none gets one twice, also where rows are removed.
CREATE OR REPLACE FUNCTION bufferhouse.dumps_given() RETURNS BIGINT STABLE LANGUAGE sql AS $$
    SELECT COALESCE(n.next_row_id, 0) FROM public.ducklake_table AS t
    INNER JOIN public.ducklake_schema AS s ON t.schema_id = s.schema_id AND s.schema_name = 'raw'
    LEFT JOIN public.ducklake_table_stats AS n ON t.table_id = n.table_id
    WHERE t.table_name = 'dumps' AND t.end_snapshot IS NULL
$$;

-- Whoever changes the table sets the state afterwards, if he knows it: so nothing that is done by hand is believed.
CREATE OR REPLACE FUNCTION bufferhouse.doubt_contents() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE bufferhouse.contents_state SET row_count = NULL;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER bufferhouse_doubt AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON bufferhouse.contents
    FOR EACH STATEMENT EXECUTE FUNCTION bufferhouse.doubt_contents();

-- Behind the first line of its information a commit names the contents that it adds: dump_id, SHA-256 and signature id, a
-- line each. They come into the table with the snapshot, and do not stay in its information. What else is done to the
-- rows of raw.dumps, by whatever version, leaves the table in doubt. A function of its own, which the fence of an older
-- version does not replace. The state is locked before it is read: of a commit that began before the table was filled
-- PostgreSQL says then that an update was concurrent, and DuckLake tries again.
CREATE OR REPLACE FUNCTION bufferhouse.keep_contents() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    lines TEXT[] := '{}';
    changes TEXT[];
    before BIGINT;
BEGIN
    IF NEW.commit_extra_info LIKE '{"worker_id":%' THEN
        lines := string_to_array(NEW.commit_extra_info, E'\n');
        NEW.commit_extra_info := lines[1];
        lines := lines[2:];
    END IF;
    changes := ARRAY(
        SELECT (regexp_matches(NEW.changes_made, '(\w+):' || t.table_id || '(?=,|$)', 'g'))[1]
        FROM (SELECT DISTINCT table_id, schema_id FROM public.ducklake_table WHERE table_name = 'dumps') AS t
        INNER JOIN public.ducklake_schema AS s ON t.schema_id = s.schema_id AND s.schema_name = 'raw'
    );
    IF NOT changes <@ '{inline_flush,merge_adjacent,rewrite_delete}' THEN
        SELECT row_count INTO before FROM bufferhouse.contents_state FOR UPDATE;
        INSERT INTO bufferhouse.contents (dump_id, sha256, signature_id)
        SELECT split_part(l, ' ', 1)::BIGINT, decode(split_part(l, ' ', 2), 'hex'), split_part(l, ' ', 3)::BIGINT
        FROM unnest(lines) AS l ON CONFLICT DO NOTHING;
        UPDATE bufferhouse.contents_state SET row_count = CASE
            WHEN changes <@ '{inserted_into_table,inlined_insert}'
                AND before + cardinality(lines) = bufferhouse.dumps_given()
            THEN before + cardinality(lines)
        END;
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER bufferhouse_contents BEFORE INSERT ON public.ducklake_snapshot_changes
    FOR EACH ROW EXECUTE FUNCTION bufferhouse.keep_contents();
